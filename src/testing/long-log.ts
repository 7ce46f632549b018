import type { AgentId, NewFact } from "../protocol/index.ts";
import { openStore } from "../store/open-store.ts";

/** So long that no list waits for it: more than 1 MB. */
const TURNS = 300;
const WORDS = "x".repeat(4000);

/** An agent with a long log and no snapshots, as after they were deleted: at work, on 300 turns at a cent each. */
export async function writeLongLog(root: string, id: AgentId): Promise<void> {
  const store = await openStore({ root, clock: { now: () => 1_700_000_000_000 } });
  try {
    const log = await store.create(id);
    await log.append({ facts: [...BEGINNING, ...Array.from({ length: TURNS }, turn).flat()] }).durable;
  } finally {
    await store.close();
  }
}

const MODEL = "scripted/none";
const BEGINNING: NewFact[] = [
  {
    type: "agent.created",
    data: {
      name: "long",
      goal: "Go on",
      mode: "finite",
      model: MODEL,
      worker_model: MODEL,
      budget_usd: null,
      project: null,
      tools: null,
    },
  },
  { type: "agent.started", data: { why: "created", pid: 1 } },
  { type: "run.started", data: { run_id: "run-1", goal: "Go on for long" } },
];

function turn(_: unknown, index: number): NewFact[] {
  const who = { worker_id: "coordinator", node_id: null } as const;
  const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 };
  const call = { ...who, call_id: `call-${index}`, tool: "read_file" };
  return [
    {
      type: "model.responded",
      data: { ...who, model: MODEL, turn: index, usage, cost_usd: 0.01, finish: "tool", ms: 1 },
    },
    { type: "tool.result", data: { ...call, ok: true, ms: 1, gist: WORDS } },
  ];
}
