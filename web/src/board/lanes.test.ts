import { expect, test } from "vitest";
import { apply, begin, type Situation } from "../../../src/projections/index.ts";
import type { Fact, FactOf, NewFact } from "../../../src/protocol/index.ts";
import { boardLayoutOf, CARD, neighbourOf } from "./lanes.ts";

test("what needs something lies to its right, and each column in the order of making", () => {
  const { places, lanes } = boardLayoutOf(
    grown([stage(1), node(1), node(2), node(3, [1, 2]), stage(2), node(4, [3], 2)]),
    "run-1",
  );
  const column = (id: string) => Math.round(((places.get(id)?.x ?? 0) - 24) / (CARD.width + 72));
  expect([...places.keys()].map((id) => [id, column(id), places.get(id)?.y])).toEqual([
    ["node-1", 0, 44],
    ["node-2", 0, 152],
    ["node-3", 1, 44],
    ["node-4", 2, 44],
  ]);
  expect(lanes.map(({ title, nodes }) => [title, nodes.length])).toEqual([
    ["Stage 1 · Part 1", 3],
    ["Stage 2 · Part 2", 1],
  ]);
});

test("nothing moves when a node or a stage is added", () => {
  const facts = [stage(1), node(1), node(2, [1]), node(3), stage(2), node(4, [2], 2)];
  const before = boardLayoutOf(grown(facts), "run-1").places;
  const after = boardLayoutOf(grown([...facts, node(5, [], 2), stage(3), node(6, [4], 3)]), "run-1").places;
  for (const [id, { x, y }] of before) expect([id, after.get(id)?.x, after.get(id)?.y]).toEqual([id, x, y]);
});

test("what a node needs, reads and is part of has an edge each, of its own kind; what it needs and reads has one", () => {
  const reads = (id: number) => ({ refs: { a: `node-${id}/published/a.md` } });
  const { edges } = boardLayoutOf(
    grown([
      stage(1),
      node(1),
      node(2, [1], 1, reads(1)),
      node(3, [], 1, reads(1)),
      node(4, [], 1, { parent_node_id: "node-3" }),
    ]),
    "run-1",
  );
  expect(edges.map(({ kind, from, to }) => [from.node.id, kind, to.node.id])).toEqual([
    ["node-1", "ref", "node-3"],
    ["node-1", "depends", "node-2"],
    ["node-3", "part", "node-4"],
  ]);
});

test("the arrow keys lead along the edges and the columns, and nowhere from the rim", () => {
  const layout = boardLayoutOf(grown([stage(1), node(1), node(2), node(3, [1, 2])]), "run-1");
  const lead = (id: string) =>
    ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].map((key) => neighbourOf(layout, id, key));
  expect(lead("node-1")).toEqual([undefined, "node-2", undefined, "node-3"]);
  expect(lead("node-2")).toEqual(["node-1", undefined, undefined, "node-3"]);
  expect(lead("node-3")).toEqual([undefined, undefined, "node-1", undefined]);
});

const CONTRACT = { max_iterations_per_node: 9, timeout_seconds: 9, checkpoint_policy: "any" } as const;

function stage(number: number): NewFact {
  return {
    type: "stage.started",
    data: { run_id: "run-1", stage: number, name: `Part ${number}`, contract: CONTRACT },
  };
}

function node(
  number: number,
  needs: number[] = [],
  inStage = 1,
  more: Partial<FactOf<"node.created">["data"]> = {},
): NewFact {
  return {
    type: "node.created",
    data: {
      run_id: "run-1",
      node_id: `node-${number}`,
      stage: inStage,
      task: "Work",
      inference: "multi",
      dependencies: needs.map((each) => `node-${each}` as const),
      refs: {},
      deliverables: [],
      parent_node_id: null,
      created_by: "coordinator",
      ...more,
    },
  };
}

function grown(facts: readonly NewFact[]): Situation {
  const created: NewFact = {
    type: "agent.created",
    data: {
      name: "A",
      goal: "G",
      mode: "finite",
      model: "m",
      worker_model: "m",
      budget_usd: null,
      project: null,
      tools: null,
    },
  };
  const numbered = [created, ...facts].map(
    (fact, index) => ({ ...fact, seq: index + 1, ts: index, agent_id: "agent-test" }) as Fact,
  );
  const [first, ...rest] = numbered;
  if (!first) throw new Error("There is always a first fact.");
  const now = begin(first);
  for (const fact of rest) apply(now, fact);
  return now;
}
