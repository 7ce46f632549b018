import { expect, test } from "vitest";
import { applyToBoard, type Board, emptyBoard } from "../projections/index.ts";
import type { Fact, NewFact, NodeId } from "../protocol/index.ts";
import type { NewWork } from "../tools/work.ts";
import { checkedOrder } from "./new-work.ts";

const order = (change: Partial<NewWork>): NewWork => ({
  task: "Task",
  deliverables: [],
  refs: {},
  dependencies: [],
  inference: "multi",
  ...change,
});

test("work waits for what it depends on and for what its refs point at, unless that is there already", () => {
  const refs = { done: "node-1/published/a.md", coming: "nodes/node-2/published", all: "node-3/published" };
  expect(checkedOrder(order({ dependencies: ["node-1", "node-3"], refs }), board())).toEqual({
    ok: true,
    dependencies: ["node-1", "node-3", "node-2"],
  });
});

test.each<[string, Partial<NewWork>, string]>([
  [
    "a node that is not there",
    { dependencies: ["node-9"] },
    'there is no node "node-9". There are: node-1, node-2, node-3.',
  ],
  [
    "a ref to what is not published",
    { refs: { survey: "node-1/scratch/a.md" } },
    'ref "survey" must point at a node\'s published files, e.g. node-1/published/report.md; it is "node-1/scratch/a.md".',
  ],
  [
    "a ref to a node that is not there",
    { refs: { survey: "node-9/published/a.md" } },
    'ref "survey" must point at a node\'s published files, e.g. node-1/published/report.md; it is "node-9/published/a.md".',
  ],
  [
    "a ref that only looks like one",
    { refs: { survey: "other/node-1/published" } },
    'ref "survey" must point at a node\'s published files, e.g. node-1/published/report.md; it is "other/node-1/published".',
  ],
  [
    "a deliverable in prose",
    { deliverables: ["report.md", "a short report"] },
    'deliverables are file names, e.g. report.md; "a short report" is not one. Say the rest in the task.',
  ],
  [
    "a deliverable outside",
    { deliverables: ["../report.md"] },
    'deliverables are file names, e.g. report.md; "../report.md" is not one. Say the rest in the task.',
  ],
])("an order is refused, with what to do: %s", (_, change, reason) => {
  expect(checkedOrder(order(change), board())).toEqual({ ok: false, reason });
});

test("on an empty board nothing can be depended on", () => {
  expect(checkedOrder(order({ dependencies: ["node-1"] }), emptyBoard())).toEqual({
    ok: false,
    reason: 'there is no node "node-1". The board is empty.',
  });
});

test("file names with spaces, folders and dots are file names", () => {
  const deliverables = ["final report.md", "data/raw values", "Makefile", "..hidden/x"];
  expect(checkedOrder(order({ deliverables }), board())).toEqual({ ok: true, dependencies: [] });
});

/** Three nodes, the first completed. */
function board(): Board {
  const now = emptyBoard();
  const facts: NewFact[] = [
    ...[1, 2, 3].map((n) => created(`node-${n}`)),
    { type: "node.completed", data: { node_id: "node-1", worker_id: "alice", summary: "" } },
  ];
  for (const [at, fact] of facts.entries())
    applyToBoard(now, { ...fact, seq: at + 2, ts: 0, agent_id: "agent-abcd" } as Fact);
  return now;
}

function created(node_id: NodeId): NewFact {
  const nothing = { dependencies: [], refs: {}, deliverables: [], parent_node_id: null };
  const data = {
    run_id: "run-1",
    node_id,
    task: "T",
    inference: "multi",
    created_by: "coordinator",
    ...nothing,
  } as const;
  return { type: "node.created", data };
}
