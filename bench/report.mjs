import { contestants } from "./contestants.mjs";
import { installedVersion } from "./peers.mjs";

const NOT_FIGURES = new Set(["scenario", "contestant", "repetition", "error"]);

/** Contestant → "scenario.figure" → the median over its repetitions. */
export function medians(measurements) {
  const collected = {};
  for (const measurement of measurements) {
    collected[measurement.contestant] ??= {};
    const figures = collected[measurement.contestant];
    for (const [name, value] of Object.entries(measurement)) {
      if (NOT_FIGURES.has(name) || typeof value !== "number") continue;
      const key = `${measurement.scenario}.${name}`;
      figures[key] ??= [];
      figures[key].push(value);
    }
  }
  return mapValues(collected, (figures) => mapValues(figures, median));
}

export function markdown({ table, targets, measurements, planned, machine }) {
  return [
    `Node ${machine.node}, ${machine.cores} cores (${machine.cpu}), ${machine.at.slice(0, 10)}. Medians; in brackets the ratio to the streamed floor.`,
    planned.map(([name, { title }]) => `- ${name}: ${title}`).join("\n"),
    ...tables.map((columns) => figuresTable(table, columns)),
    keptTable(table),
    errors(measurements),
    targetsTable(targets),
  ]
    .filter(Boolean)
    .join("\n\n");
}

const tables = [
  [
    ["turn.cpu_ms", "CPU ms a turn", 2],
    ["turn.wall_ms", "wall ms a turn", 2],
    ["team.wall_ms", "team, wall ms", 0],
    ["team.cpu_ms", "team, CPU ms a turn", 2],
    ["team.rss_mb", "team, peak MB", 0],
    ["cold.first_request_ms", "cold start ms", 0],
  ],
  [
    ["growth.early_cpu_ms", "CPU ms at turn 50", 2],
    ["growth.late_cpu_ms", "CPU ms at the end", 2],
    ["growth.early_written_kb", "KB written a turn at 50", 1],
    ["growth.late_written_kb", "KB written a turn at the end", 1],
    ["growth.written_mb", "MB written", 2],
    ["growth.stored_mb", "MB stored", 2],
  ],
  [
    ["board.fact_us_100", "µs a fact, 100 nodes", 1],
    ["board.fact_us_1000", "1,000 nodes", 1],
    ["board.fact_us_10000", "10,000 nodes", 1],
    ["board.ready_ms", "completed to started, ms", 1],
    ["board.ready_p95_ms", "95th of 100, ms", 1],
  ],
  [
    ["memory.query_ms", "a search among 100,000 sections, ms", 1],
    ["memory.query_p95_ms", "95th of 100, ms", 1],
    ["memory.query_cpu_ms", "CPU ms", 1],
    ["memory.build_s", "s to index them", 1],
    ["memory.index_mb", "MB of the index", 0],
    ["memory.more_rss_mb", "MB more by searching", 0],
  ],
  [
    ["restart.ready_ms", "1,000,000 facts over 100 agents: ready after a kill, ms", 0],
    ["restart.again_ms", "once more, ms", 0],
    ["restart.idle_kb", "KB of an agent that rests", 1],
    ["restart.open_kb", "KB of one that is open", 0],
    ["human.p50_ms", "a human's word to the coordinator's request, ms", 1],
    ["human.p99_ms", "99th of 100, ms", 1],
    ["answer.p50_ms", "an answer to the worker's request, ms", 1],
    ["answer.p99_ms", "99th of 100, ms", 1],
  ],
  [
    ["server.get_p99_ms", "GET /agents/{id}, 99th of 100, ms", 1],
    ["server.get_ms", "median", 1],
    ["server.fact_p99_ms", "fact to client, 99th of 100, ms", 0],
    ["server.fact_ms", "median", 0],
    ["server.append_p99_ms", "of which to the disk, at most", 0],
    ["server.facts_a_second", "facts delivered a second", 0],
    ["server.idle_kb", "KB of an agent that rests", 1],
    ["server.turns_a_second", "turns a second", 0],
    ["server.turn_kb", "KB of heap a turn", 1],
    ["server.said_kb", "KB of conversation a turn", 1],
    ["server.quiet_heap", "heap after a time without work, to before", 2],
    ["server.stopped_heap", "heap of stopped agents, to that after their first turns", 2],
  ],
  [
    ["repository.clone_ms", "a node's clone, ms", 0],
    ["repository.worktree_ms", "git worktree add", 0],
    ["repository.plain_ms", "git clone", 0],
    ["repository.shared_ms", "git clone --shared", 0],
    ["repository.clone_mb", "MB beside the files of a node's clone", 2],
    ["repository.worktree_mb", "git worktree add", 2],
    ["repository.plain_mb", "git clone (hard links)", 2],
    ["repository.shared_mb", "git clone --shared", 2],
  ],
  [
    ["repository.merge_ms", "a merge, ms", 0],
    ["repository.receive_ms", "receiving the commit", 0],
    ["repository.commit_ms", "making it, in the sandbox", 0],
    ["repository.create_ms", "the agent's repository, once", 0],
    ["repository.parallel_s", "50 clones at once, s", 1],
    ["repository.parallel_mib", "MiB they held at most", 0],
    ["repository.one_mib", "MiB of one git worktree add", 0],
  ],
  [
    ["engine.turn_ms", "a turn in an engine, ms", 1],
    ["engine.turn_p95_ms", "95th of 100", 1],
    ["engine.file_turn_ms", "in files", 1],
    ["engine.overhead_ms", "more", 1],
    ["engine.one_a_second", "facts a second on one agent", 0],
    ["engine.file_one_a_second", "in files", 0],
    ["engine.eight_a_second", "over eight", 0],
    ["engine.file_eight_a_second", "in files", 0],
    ["engine.idle_queries", "questions a second of a host at rest", 2],
    ["engine.restore_ms", "an agent of 10,000 facts brought to another host, ms", 0],
  ],
  [
    ["outside.resident_mib", "MiB of ours beside a silent program", 1],
    ["outside.fair_mib", "what is shared counted once", 1],
    ["outside.cpu_percent", "% of a core", 2],
    ["outside.processes", "processes", 0],
    ["outside.start_ms", "ms to start one", 0],
    ["outside.stop_all_ms", "ms to stop them all", 0],
  ],
  [
    ["idle.cpu_percent", "% of a core of ours for 20 programs that wait", 2],
    ["idle.theirs_percent", "their own", 2],
    ["idle.held_mib", "MiB they and what is around them hold", 0],
    ["idle.ended_cpu_percent", "% of a core once they were ended", 2],
    ["idle.left", "processes left then", 0],
    ["idle.resume_s", "s from the answers to all results", 1],
  ],
];

function figuresTable(table, columns) {
  const names = contestants
    .map(({ name }) => name)
    .filter((name) => columns.some(([key]) => table[name]?.[key] !== undefined));
  const shown = columns.filter(([key]) => names.some((name) => table[name][key] !== undefined));
  if (shown.length === 0) return "";
  const floor = table["floor-streamed"] ?? {};
  const rows = names.map((name) => [
    name,
    ...shown.map(([key, , digits]) => cell(table[name][key], floor[key], digits)),
  ]);
  return asTable(["", ...shown.map(([, title]) => title)], rows);
}

function cell(value, floor, digits) {
  if (value === undefined) return "–";
  const ratio = floor ? ` (${(value / floor).toFixed(value / floor < 10 ? 1 : 0)}×)` : "";
  return `${value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits })}${ratio}`;
}

function keptTable(table) {
  const rows = contestants
    .filter(({ name }) => table[name])
    .map(({ name, package: from, keeps }) => [from ? `${from} ${installedVersion(from)}` : name, keeps]);
  return asTable(["", "what it keeps"], rows);
}

function targetsTable(targets) {
  if (targets.length === 0) return "";
  const rows = targets.map(({ what, ratio, limit, met, unit = "" }) => [
    what,
    ratio.toFixed(2),
    `≤ ${limit}${unit}`,
    met ? "met" : "MISSED",
  ]);
  return asTable(["target", "measured", "limit", ""], rows);
}

function errors(measurements) {
  const failed = measurements.filter(({ error }) => error);
  return failed
    .map(({ scenario, contestant, error }) => `- ${contestant} has no ${scenario} figures: it ${error}`)
    .join("\n");
}

function asTable(head, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}
