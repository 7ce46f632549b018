import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/**
 * A home with a long past, opened by a new process.
 *
 * BENCH-RESTART-1. Half of the agents ended in peace. The others were at work when their process was killed: what was
 *     kept of their situation is hundreds of facts old, and the last of it has to be read and folded.
 * BENCH-RESTART-2. Ready is: the home is open, every agent is listed, and those that were at work are open again and
 *     could go on. The clock runs from the start of the process.
 */
export async function restartCost(home, { agents, facts }) {
  await makeHome(home, agents, facts);
  const flags = ["--expose-gc", fileURLToPath(import.meta.url), home];
  // The second start finds what the first one folded: both are told.
  const first = await open(flags);
  const again = await open(flags);
  if (first.agents !== agents) throw new Error(`lists ${first.agents} agents instead of ${agents}`);
  return { ready_ms: first.ready_ms, again_ms: again.ready_ms, idle_kb: again.idle_kb, open_kb: again.open_kb };
}

async function open(flags) {
  const { stdout } = await promisify(execFile)(process.execPath, flags);
  return JSON.parse(stdout);
}

/** As the server does at its start. */
async function restart(home) {
  const { openRuntime } = await import("../dist/bundle/index.js");
  const runtime = await openRuntime({ home, env: {}, config: {} });
  const all = await runtime.summaries();
  const cut = all.filter(({ status }) => status === "working");
  await Promise.all(cut.map(({ id }) => runtime.agent(id)));
  const ready_ms = performance.now();
  const rest = all.filter(({ status }) => status !== "working");
  const open_kb = (await memoryOf(() => Promise.all(rest.map(({ id }) => runtime.agent(id))))) / rest.length;
  const idle_kb = (await idleMemory(home)) / all.length;
  process.stdout.write(`${JSON.stringify({ agents: all.length, ready_ms, idle_kb, open_kb })}\n`);
  process.exit(0);
}

/** Of a home that is only listed: all that is held of its agents. */
async function idleMemory(home) {
  const [{ OpenAgents }, { lookAtHome }] = await Promise.all([
    import("../src/runtime/open-agents.ts"),
    import("../src/runtime/open-runtime.ts"),
  ]);
  const agents = new OpenAgents({ store: await lookAtHome(home), now: Date.now });
  return memoryOf(async () => {
    await agents.summaries();
    return agents;
  });
}

async function memoryOf(work) {
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  const result = await work();
  globalThis.gc();
  return result && (process.memoryUsage().heapUsed - before) / 1024;
}

async function makeHome(root, agents, facts) {
  const { openStore } = await import("../src/store/open-store.ts");
  const { saveSituation, situationOf } = await import("../src/runtime/state/situations.ts");
  let ms = 1_700_000_000_000;
  const store = await openStore({ root, clock: { now: () => ms++ } });
  for (let i = 0; i < agents; i++) {
    const log = await store.create(`agent-${String(i).padStart(4, "0")}`);
    const wasCut = i % 2 === 1;
    const each = Math.floor(facts / agents);
    const until = wasCut ? each - UNKEPT : each - ENDING.length;
    await write(log, until);
    if (!wasCut) await log.append({ facts: ENDING }).durable;
    await saveSituation(log, await situationOf(log));
    await write(log, each);
  }
  await store.close();
}

/** So many agents that ended in peace, each with so many facts. */
export async function restHome(root, agents, facts) {
  const { openStore } = await import("../src/store/open-store.ts");
  const { saveSituation, situationOf } = await import("../src/runtime/state/situations.ts");
  const store = await openStore({ root, clock: { now: Date.now } });
  for (let i = 0; i < agents; i++) {
    const log = await store.create(`agent-${String(i).padStart(4, "0")}`);
    await write(log, facts - ENDING.length);
    await log.append({ facts: ENDING }).durable;
    await saveSituation(log, await situationOf(log));
  }
  await store.close();
}

const UNKEPT = 900;

async function write(log, until) {
  if (log.seq === 0) await log.append({ facts: BEGINNING }).durable;
  for (let node = Math.floor(log.seq / 100); log.seq < until; node++) {
    const facts = workOn(node + 1).slice(0, until - log.seq);
    await log.append({ facts }).durable;
  }
}

/** A hundred facts: a node is made, worked on in turns, and completed. */
export function workOn(number) {
  const node_id = `node-${number}`;
  const worker_id = NAMES[number % NAMES.length];
  const who = { worker_id, node_id };
  const node = {
    run_id: "run-1",
    node_id,
    task: `Look into matter ${number} and write down what is found`,
    inference: "multi",
    dependencies: [],
    refs: {},
    deliverables: ["report.md"],
    parent_node_id: null,
    created_by: "coordinator",
  };
  const files = [{ path: "report.md", sha256: "0".repeat(64), bytes: 1234 }];
  const turns = Array.from({ length: 23 }, (_, turn) => turnOf(who, turn + 1)).flat();
  return [
    { type: "node.created", data: node },
    { type: "node.assigned", data: who },
    { type: "worker.busy", data: who },
    { type: "node.started", data: who },
    ...turns,
    letter(number, worker_id),
    { type: "node.published", data: { ...who, summary: `Matter ${number} is clear`, files } },
    { type: "node.completed", data: { ...who, summary: `Matter ${number} is clear` } },
    { type: "worker.idle", data: { worker_id } },
  ];
}

export function turnOf(who, turn) {
  const call = { ...who, call_id: `call_${turn}`, tool: "read_file" };
  return [
    { type: "model.called", data: { ...who, model: MODEL, turn } },
    {
      type: "model.responded",
      data: { ...who, model: MODEL, turn, usage: USAGE, cost_usd: 0.01, finish: "tool", ms: 900 },
    },
    { type: "tool.called", data: { ...call, gist: "project/notes/some-file.md" } },
    { type: "tool.result", data: { ...call, ok: true, ms: 2, gist: "120 lines of project/notes/some-file.md" } },
  ];
}

function letter(number, from) {
  const text = `Matter ${number}: there is more to it than was thought, see the report.`;
  const message_id = `message-${number}`;
  return { type: "message.sent", data: { message_id, from, to: "coordinator", text, file: `${number}.md`, hops: 1 } };
}

const MODEL = "bench/none";
const NAMES = ["ada", "ben", "cleo", "dan", "eve", "finn"];
const USAGE = { input: 1200, output: 80, cache_read: 900, cache_write: 0, reasoning: 0 };
const spawned = (worker_id) => ({ run_id: "run-1", worker_id, name: worker_id, kind: "harnessed", model: MODEL });

const BEGINNING = [
  {
    type: "agent.created",
    data: {
      name: "bench",
      goal: "Find out everything",
      mode: "finite",
      model: MODEL,
      worker_model: MODEL,
      budget_usd: null,
      project: null,
      tools: null,
    },
  },
  { type: "agent.started", data: { why: "created", pid: 1 } },
  { type: "run.started", data: { run_id: "run-1", goal: "Find out everything" } },
  ...["coordinator", ...NAMES].map((id) => ({ type: "worker.spawned", data: spawned(id) })),
];

const ENDING = [
  { type: "run.finished", data: { run_id: "run-1", outcome: { kind: "finished", summary: "All is known" } } },
  { type: "agent.completed", data: { summary: "All is known" } },
];

if (process.argv[1] === fileURLToPath(import.meta.url)) await restart(process.argv[2]);
