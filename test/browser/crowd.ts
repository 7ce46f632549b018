import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentId, NewFact, NodeId } from "../../src/protocol/index.ts";
import type { House } from "./house.ts";

const CROWD: AgentId = "agent-crowd";
const DEMO = "demo/surveyor";
const PER_COMMIT = 1000;

export interface CrowdOptions {
  workers: number;
  nodes: number;
  questions: number;
  facts: number;
  /** Other agents, about whom there is little to say. */
  others: number;
  files: number;
  /** What the coordinator says at the end. */
  words: readonly string[];
  /** How many pieces of work follow one from the other; twenty if left out. */
  chain?: number;
}

/** A home with far more of everything in it than anybody has. Its log is written as it stands; nobody thinks. */
export async function openCrowd(house: House, options: CrowdOptions): Promise<{ at: string }> {
  const facts = [...born("Crowd", "Grow"), ...grown(options)];
  await write(house, CROWD, facts);
  for (let n = 1; n <= options.others; n++) {
    const name = `Other ${n}`;
    await write(house, `agent-other${n}`, [...born(name, "Rest"), { type: "agent.stopped", data: { by: "human" } }]);
  }
  const run = join(house.home, "agents", CROWD, "runs", "run-1");
  mkdirSync(join(run, "many"), { recursive: true });
  for (let n = 1; n <= options.files; n++) writeFileSync(join(run, "many", `file-${n}.md`), "");
  const memory = join(house.home, "agents", CROWD, "memory");
  mkdirSync(memory, { recursive: true });
  writeFileSync(join(memory, "long-ago.md"), "# Long ago\n");
  writeFileSync(join(run, "slow.ts"), `const a =${" ".repeat(50_000)}1;\n${"(a, b = {\n".repeat(500)}`);
  writeFileSync(join(run, "long.md"), `${"> ".repeat(100_000)}\n\n${"- item\n".repeat(700_000)}`);
  writeFileSync(join(run, "line.txt"), "word ".repeat(1_000_000));
  return { at: `/ui/agents/${CROWD}` };
}

async function write(house: House, id: AgentId, facts: readonly NewFact[]): Promise<void> {
  const log = await house.runtime.store.create(id);
  for (let at = 0; at < facts.length; at += PER_COMMIT)
    await log.append({ facts: facts.slice(at, at + PER_COMMIT) }).durable;
  await log.close();
}

function born(name: string, goal: string): NewFact[] {
  const mind = { model: DEMO, worker_model: DEMO };
  const limits = { budget_usd: null, project: null, tools: null };
  return [
    { type: "agent.created", data: { name, goal, mode: "finite", ...mind, ...limits } },
    { type: "agent.started", data: { why: "created", pid: process.pid } },
    { type: "run.started", data: { run_id: "run-1", goal } },
    spawned("coordinator", "Coordinator"),
  ];
}

function grown({ workers, nodes, questions, facts, words, chain = 20 }: CrowdOptions): NewFact[] {
  const worker = (n: number) => `worker${(n % workers) + 1}`;
  const all: NewFact[] = [
    { type: "memory.written", data: { path: "memory/long-ago.md", bytes: 11, by: "coordinator" } },
  ];
  for (let n = 0; n < workers; n++) all.push(spawned(worker(n), `Worker ${n + 1}`));
  for (let n = 1; n <= nodes; n++) all.push(node(n, chain));
  for (let n = 1; all.length < facts; n++) {
    const who = { worker_id: worker(n), node_id: null };
    const call = { ...who, call_id: `call-${n}`, tool: "write_file" };
    all.push(
      { type: "worker.busy", data: who },
      { type: "tool.called", data: { ...call, gist: `file-${n}.md` } },
      { type: "tool.result", data: { ...call, ok: true, ms: 3, gist: `Wrote file-${n}.md.` } },
      { type: "worker.idle", data: { worker_id: who.worker_id } },
    );
  }
  for (let n = 1; n <= questions; n++) all.push(question(n, worker(n)));
  for (const [n, text] of words.entries()) all.push(said(`msg-${n}`, text));
  return all;
}

/** Each of these is about as long, or as deep, as a model can say in one go. */
export const LONG = [
  `A megabyte: ${"word ".repeat(200_000)}`,
  `Deep:\n\n${">".repeat(30_000)} end`,
  `A list:\n\n${"- item\n".repeat(5000)}`,
  `A table:\n\n${"| a ".repeat(500)}|\n${"|---".repeat(500)}|\n${"| b ".repeat(500)}|`,
  `Slow: ${"a_".repeat(20_000)}`,
  `One word: ${"x".repeat(10_000)}`,
  `Piled up: ${`Z${"\u0301".repeat(300)}`.repeat(20)}`,
  "The last word.",
];

function said(message_id: string, text: string): NewFact {
  return { type: "message.sent", data: { message_id, from: "coordinator", to: "human", text, file: "", hops: 1 } };
}

function question(n: number, worker_id: string): NewFact {
  const asked = { question_id: `question-${n}`, worker_id, node_id: null, call_id: `ask-${n}` };
  return { type: "human.question", data: { ...asked, text: `Question ${n}? ${"x".repeat(2000)}` } };
}

function spawned(worker_id: string, name: string): NewFact {
  return { type: "worker.spawned", data: { run_id: "run-1", worker_id, name, kind: "harnessed", model: DEMO } };
}

function node(n: number, chain: number): NewFact {
  const node_id: NodeId = `node-${n}`;
  // Chains, side by side.
  const dependencies: NodeId[] = n % chain === 1 ? [] : [`node-${n - 1}`];
  const made = { run_id: "run-1", node_id, task: `Piece ${n} ${"of the work ".repeat(50)}` } as const;
  const plan = {
    inference: "multi" as const,
    dependencies,
    refs: {},
    deliverables: [] as string[],
    parent_node_id: null,
  };
  return { type: "node.created", data: { ...made, ...plan, stage: 1, created_by: "coordinator" } };
}
