import { contestants } from "./contestants.mjs";

const FLOOR = "floor-streamed";
const OURS = "agiraph";

/** What we promise, as ratios within one run. A target whose figures were not measured is left out. */
export function judge(table) {
  const figure = (contestant, name) => table[contestant]?.[name];
  const bestPeer = (name, which = () => true) => {
    const peers = contestants.filter((each) => each.kind === "peer" && which(each));
    const figures = peers.map((peer) => figure(peer.name, name));
    return Math.min(...figures.filter((value) => value !== undefined));
  };
  const toPersisting = (name) => figure(OURS, name) / bestPeer(name, ({ persists }) => persists);
  const toFloor = (name) => figure(OURS, name) / figure(FLOOR, name);
  return [
    target("CPU a turn, streamed and durable, to the floor's", toFloor("turn.cpu_ms"), 2),
    target("CPU a turn to that of the best peer", figure(OURS, "turn.cpu_ms") / bestPeer("turn.cpu_ms"), 0.5),
    target(
      "ratio to the floor late, to that early",
      toFloor("growth.late_cpu_ms") / toFloor("growth.early_cpu_ms"),
      1.3,
    ),
    target(
      "bytes stored a turn late, to early",
      figure(OURS, "growth.late_stored") / figure(OURS, "growth.early_stored"),
      1.1,
    ),
    target("a team's wall time, to the floor's", toFloor("team.wall_ms"), 2),
    target("a team's CPU a turn, to the floor's", toFloor("team.cpu_ms"), 2),
    target("a team's wall time, to the best peer's that persists itself", toPersisting("team.wall_ms"), 0.5),
    target("a team's CPU a turn, to the best peer's that persists itself", toPersisting("team.cpu_ms"), 0.5),
    target("a team's peak memory", figure(OURS, "team.rss_mb"), 300, " MB"),
    target("completed to started among 10,000 nodes", figure(OURS, "board.ready_ms"), 5, " ms"),
    target(
      "cost of a fact at 10,000 nodes, to that at 100",
      figure(OURS, "board.fact_us_10000") / figure(OURS, "board.fact_us_100"),
      2,
    ),
    target("a search among 100,000 remembered sections", figure(OURS, "memory.query_ms"), 50, " ms"),
    target("a message renamed in to the agent told, median", figure(OURS, "mesh.told_p50_ms"), 0.5, " ms"),
    target("a message renamed in to the agent told, p99", figure(OURS, "mesh.told_p99_ms"), 50, " ms"),
    target("memory kept after 10,000 messages of a mesh", figure(OURS, "mesh.kept_mb"), 5, " MB"),
    target("ready with 1,000,000 facts over 100 agents", figure(OURS, "restart.ready_ms"), 3_000, " ms"),
    target("memory of an agent that rests", figure(OURS, "restart.idle_kb"), 200, " KB"),
    target("GET /agents/{id} under load, 99th of 100", figure(OURS, "server.get_p99_ms"), 50, " ms"),
    target("fact to client under load, 99th of 100", figure(OURS, "server.fact_p99_ms"), 50, " ms"),
    target("heap while clients look on and nobody works, to before", figure(OURS, "server.quiet_heap"), 1.05),
    target("heap of stopped agents, to that after their first turns", figure(OURS, "server.stopped_heap"), 1.05),
    target("a human's word to the coordinator's next request, p99", figure(OURS, "human.p99_ms"), 20, " ms"),
    target("a human's answer to the worker's next request, p99", figure(OURS, "answer.p99_ms"), 20, " ms"),
    target("memory of ours beside a silent program", figure(OURS, "outside.resident_mib"), 15, " MiB"),
    target("of a core, for a silent program", figure(OURS, "outside.cpu_percent"), 1, " %"),
    target("of a core, for 20 programs that wait over night", figure(OURS, "idle.cpu_percent"), 1, " %"),
    target("a node's clone, 10,000 files and 500 MiB of history", figure(OURS, "repository.clone_ms"), 1_000, " ms"),
    target("on the disk beside its files", figure(OURS, "repository.clone_mb"), 1, " MB"),
    target("a merge without conflict", figure(OURS, "repository.merge_ms"), 200, " ms"),
    target("memory of each of 50 clones at once, to one checkout's", figure(OURS, "repository.parallel_memory"), 1),
    target("a turn in an engine, more than in files, p50", figure(OURS, "engine.overhead_ms"), 5, " ms"),
    target("1,000 facts on one agent of an engine", 1_000_000 / figure(OURS, "engine.one_a_second"), 1_000, " ms"),
    target("3,000 facts over eight", 3_000_000 / figure(OURS, "engine.eight_a_second"), 1_000, " ms"),
    target("what a host at rest asks its engine in a second", figure(OURS, "engine.idle_queries"), 1),
    target("10,000 facts and 330 files brought to another host", figure(OURS, "engine.restore_ms"), 2_000, " ms"),
    target("start to first request, to the floor's", toFloor("cold.first_request_ms"), 3),
  ].filter(({ ratio }) => Number.isFinite(ratio) && ratio > 0);
}

function target(what, ratio, limit, unit) {
  return { what, ratio, limit, met: ratio <= limit, ...(unit && { unit }) };
}
