import { expect, test } from "vitest";
import { apply, begin } from "../../../src/projections/index.ts";
import type { Fact, NewFact } from "../../../src/protocol/index.ts";
import { fileAt } from "./moment.ts";

const run_id = "run-1";
const node_id = "node-1";
const worker_id = "alice";
const files = [{ path: "report.md", sha256: "0", bytes: 1 }];
const facts: NewFact[] = [
  {
    type: "agent.created",
    data: {
      name: "a",
      goal: "g",
      mode: "finite",
      model: "m",
      worker_model: "m",
      budget_usd: null,
      project: null,
      tools: null,
    },
  },
  { type: "run.started", data: { run_id, goal: "g" } },
  { type: "worker.spawned", data: { run_id, worker_id, name: "Alice", kind: "harnessed", model: "m" } },
  {
    type: "node.created",
    data: {
      run_id,
      node_id,
      task: "t",
      inference: "multi",
      dependencies: [],
      refs: {},
      deliverables: [],
      parent_node_id: null,
      created_by: "coordinator",
    },
  },
  { type: "node.assigned", data: { node_id, worker_id } },
  { type: "node.published", data: { node_id, worker_id, summary: "s", files } },
  { type: "node.completed", data: { node_id, worker_id, summary: "s" } },
];

test("in the past a file is the same, came later, or nobody can tell", () => {
  const paths = [
    "GOAL.md",
    "runs/run-1/_plan.md",
    "runs/run-1/workers/alice/memory.md",
    "runs/run-1/nodes/node-1/_spec.md",
    "runs/run-1/nodes/node-1/published/report.md",
    "runs/run-1/nodes/node-1/published/other.md",
    "runs/run-2/_plan.md",
  ];
  const standings = (length: number) => paths.map((path) => fileAt(path, situationAfter(length)));
  expect({ before: standings(1), begun: standings(3), made: standings(4), done: standings(7) }).toEqual({
    before: ["unknown", "later", "later", "later", "later", "later", "later"],
    begun: ["unknown", "unknown", "unknown", "later", "later", "later", "later"],
    made: ["unknown", "unknown", "unknown", "unknown", "later", "later", "later"],
    done: ["unknown", "unknown", "unknown", "unknown", "same", "later", "later"],
  });
});

function situationAfter(length: number) {
  const [first, ...rest] = facts
    .slice(0, length)
    .map((fact, index) => ({ ...fact, seq: index + 1, ts: index, agent_id: "agent-test" }) as Fact);
  if (!first) throw new Error("A log begins with a fact.");
  const now = begin(first);
  for (const fact of rest) apply(now, fact);
  return now;
}
