import { contestants } from "./contestants.mjs";

const FLOOR = "floor-streamed";
const OURS = "agiraph";

/** What we promise, as ratios within one run. A target whose figures were not measured is left out. */
export function judge(table) {
  const figure = (contestant, name) => table[contestant]?.[name];
  const peers = contestants.filter(({ kind }) => kind === "peer").map(({ name }) => figure(name, "turn.cpu_ms"));
  const bestPeer = Math.min(...peers.filter((cpu) => cpu !== undefined));
  const toFloor = (name) => figure(OURS, name) / figure(FLOOR, name);
  return [
    target("CPU a turn, streamed and durable, to the floor's", toFloor("turn.cpu_ms"), 2),
    target("CPU a turn to that of the best peer", figure(OURS, "turn.cpu_ms") / bestPeer, 0.5),
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
    target("start to first request, to the floor's", toFloor("cold.first_request_ms"), 3),
  ].filter(({ ratio }) => Number.isFinite(ratio) && ratio > 0);
}

function target(what, ratio, limit) {
  return { what, ratio, limit, met: ratio <= limit };
}
