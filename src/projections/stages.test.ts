import { expect, test } from "vitest";
import type { Fact, NewFact, NodeId } from "../protocol/index.ts";
import { apply, begin, type Situation } from "./situation.ts";
import { currentStage, isStageDone, losersIn } from "./stages.ts";

const run_id = "run-1" as const;

/** A stage under this policy, and what happens in it. */
function situationAfter(checkpoint_policy: "any" | "majority", ...facts: NewFact[]): Situation {
  const agent = { name: "a", goal: "", mode: "finite", model: "x/y", worker_model: "x/y" } as const;
  const contract = { max_iterations_per_node: 9, timeout_seconds: 9, checkpoint_policy };
  const all: NewFact[] = [
    { type: "agent.created", data: { ...agent, budget_usd: null, project: null, tools: null } },
    { type: "run.started", data: { run_id, goal: "" } },
    { type: "stage.started", data: { run_id, stage: 1, name: "Race", contract } },
    ...facts,
  ];
  const [first, ...rest] = all.map((fact, at) => ({ seq: at + 1, agent_id: "agent-test", ts: at, ...fact }) as Fact);
  if (!first) throw new Error("There is always a first fact.");
  const now = begin(first);
  for (const fact of rest) apply(now, fact);
  return now;
}

function made(number: number, more: { parent?: NodeId; after?: NodeId[]; held?: true } = {}): NewFact {
  const { parent = null, after = [], held } = more;
  const spec = { task: "", inference: "multi" as const, refs: {}, deliverables: [], created_by: "coordinator" };
  const node = { run_id, node_id: `node-${number}` as const, stage: 1, dependencies: after, parent_node_id: parent };
  return { type: "node.created", data: { ...node, ...spec, ...(held && { held }) } };
}

const completed = (number: number): NewFact => ({
  type: "node.completed",
  data: { node_id: `node-${number}`, worker_id: "ann", summary: "" },
});
const failed = (number: number): NewFact => ({
  type: "node.failed",
  data: { node_id: `node-${number}`, worker_id: "ann", outcome: { kind: "failed", error: "" } },
});
const losers = ({ stages, board }: Situation) => losersIn(stages, board, run_id);

function isDone({ stages, board }: Situation): boolean {
  const stage = currentStage(stages, run_id);
  return stage !== undefined && isStageDone(stage, board);
}

test("who has lost is cancelled with all below it; what builds on the result, is held or comes later is not", () => {
  const now = situationAfter(
    "any",
    made(1),
    made(2),
    made(3, { parent: "node-2" }),
    made(4, { after: ["node-1"] }),
    made(5, { held: true }),
    completed(1),
    made(6),
  );
  expect([losers(now), isDone(now)]).toEqual([["node-3", "node-2"], true]);
});

test("neither a failure nor a sub-node is a result, and of a majority more than half must be completed", () => {
  const parts = [made(1), made(2), made(3), made(4, { parent: "node-1" })];
  const after = (...facts: NewFact[]) => isDone(situationAfter("majority", ...parts, ...facts));
  expect([after(failed(1), failed(2)), after(completed(1), completed(4)), after(completed(1), completed(2))]).toEqual([
    false,
    false,
    true,
  ]);
  expect(isDone(situationAfter("any", ...parts, failed(1), completed(4)))).toBe(false);
});

test("one that is given to a worker again has not lost any more", () => {
  const again: NewFact = { type: "node.reopened", data: { node_id: "node-2", reserved_for: "ann" } };
  const over: NewFact = { type: "node.cancelled", data: { node_id: "node-2", by: "agiraph", reason: "" } };
  expect(losers(situationAfter("any", made(1), made(2), completed(1), over, again))).toEqual([]);
});
