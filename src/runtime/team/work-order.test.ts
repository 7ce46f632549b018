import { expect, test } from "vitest";
import { apply, begin, type Situation } from "../../projections/index.ts";
import type { Fact, NewFact, NodeId } from "../../protocol/index.ts";
import type { NewWork } from "../../tools/work.ts";
import { checkedWork } from "./work-order.ts";

const order = (change: Partial<NewWork>): NewWork => ({
  not_by: [],
  task: "Task",
  deliverables: [],
  refs: {},
  dependencies: [],
  inference: "multi",
  checks: [],
  hold: false,
  ...change,
});
const LIMITS = { maxDepth: 3, maxChildren: 2 };

/** As the coordinator orders it, or somebody at work on the parent. */
function checked(change: Partial<NewWork>, now: Situation = threeNodes(), parent?: NodeId) {
  const at = { now, run: "run-1" as const, parent: parent && now.board.nodes[parent], limits: LIMITS };
  return checkedWork(order(change), { ...at, copied: new Set() });
}

test("work waits for what it depends on and for what its refs point at, unless that is there already", () => {
  const refs = { done: "node-1/published/a.md", coming: "nodes/node-2/published", all: "node-3/published" };
  expect(checked({ dependencies: ["node-1", "node-3"], refs })).toEqual({
    ok: true,
    dependencies: ["node-1", "node-3", "node-2"],
    refs: { done: "node-1/published/a.md", coming: "node-2/published", all: "node-3/published" },
  });
});

test("a ref is written in one way, however it was ordered; a folder of what is there is a ref too", () => {
  const refs = {
    plain: "node-1/published/a.md",
    whole: "nodes/node-1/published/a.md",
    dotted: "./nodes/node-1/published//a.md",
    folder: "nodes/node-1/published/data/",
    all: "nodes/node-1/published/",
  };
  expect(checked({ refs })).toEqual({
    ok: true,
    dependencies: [],
    refs: {
      plain: "node-1/published/a.md",
      whole: "node-1/published/a.md",
      dotted: "node-1/published/a.md",
      folder: "node-1/published/data/",
      all: "node-1/published",
    },
  });
});

test.each<[string, Partial<NewWork>, string]>([
  [
    "a node that is not there",
    { dependencies: ["node-9"] },
    'there is no node "node-9". Choose from: node-1, node-2, node-3.',
  ],
  [
    "a ref to what is not published",
    { refs: { survey: "node-1/scratch/a.md" } },
    'ref "survey" must point at the published files of another node, e.g. node-1/published/report.md; it is "node-1/scratch/a.md".',
  ],
  [
    "a ref to a node that is not there",
    { refs: { survey: "node-9/published/a.md" } },
    'ref "survey" is "node-9/published/a.md", and there is no node-9. Choose from: node-1, node-2, node-3.',
  ],
  [
    "a ref that only looks like one",
    { refs: { survey: "other/node-1/published" } },
    'ref "survey" must point at the published files of another node, e.g. node-1/published/report.md; it is "other/node-1/published".',
  ],
  [
    "a ref to a file that a completed node never published",
    { refs: { survey: "nodes/node-1/published/b.md" } },
    'ref "survey" is "nodes/node-1/published/b.md", but node-1 published only a.md, data/t.csv.',
  ],
  [
    "a ref that leads out",
    { refs: { survey: "node-2/published/../scratch/a.md" } },
    'ref "survey" must point at the published files of another node, e.g. node-1/published/report.md; it is "node-2/published/../scratch/a.md".',
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
  expect(checked(change)).toEqual({ ok: false, reason });
});

test("on an empty board nothing can be depended on", () => {
  expect(checked({ dependencies: ["node-1"] }, situation())).toEqual({
    ok: false,
    reason: 'there is no node "node-1". The board is empty.',
  });
});

test("file names with spaces, folders and dots are file names", () => {
  const deliverables = ["final report.md", "data/raw values", "Makefile", "..hidden/x"];
  expect(checked({ deliverables })).toEqual({ ok: true, dependencies: [], refs: {} });
});

test("nothing waits for what has failed, but what it left may be read", () => {
  const now = situation(created("node-1"), failed("node-1"));
  expect([checked({ dependencies: ["node-1"] }, now), checked({ refs: { left: "node-1/published" } }, now)]).toEqual([
    { ok: false, reason: "node-1 has failed, nothing can wait for it. What it left may be a ref." },
    { ok: true, dependencies: [], refs: { left: "node-1/published" } },
  ]);
});

test("work does not build on another run's, nor wait for what is waiting for it", () => {
  const now = situation(created("node-1"), created("node-2", { parent_node_id: "node-1" }));
  const other = situation(created("node-1", { run_id: "run-2" }));
  expect(checked({ dependencies: ["node-1"] }, other)).toEqual({
    ok: false,
    reason: 'there is no node "node-1". The board is empty.',
  });
  expect(checked({ dependencies: ["node-1"] }, now, "node-2")).toEqual({
    ok: false,
    reason: "node-1 is waiting for this very work; it cannot come first.",
  });
});

test("what is held only the coordinator can run: nobody else holds work, or waits for what is held", () => {
  const now = situation(
    created("node-1"),
    created("node-2", { held: true }),
    created("node-3", { dependencies: ["node-2"] }),
  );
  expect([
    checked({ hold: true, dependencies: ["node-3"] }, now),
    checked({ hold: true }, now, "node-1"),
    checked({ dependencies: ["node-3"] }, now, "node-1"),
  ]).toEqual([
    { ok: true, dependencies: ["node-3"], refs: {} },
    { ok: false, reason: "only the coordinator can run what is held. Leave hold out." },
    { ok: false, reason: "node-3 is held until the coordinator runs it. Do it without, or suggest it." },
  ]);
});

test("work goes only so deep and so broad", () => {
  const deep = situation(
    created("node-1"),
    created("node-2", { parent_node_id: "node-1" }),
    created("node-3", { parent_node_id: "node-2" }),
  );
  const broad = situation(
    created("node-1"),
    created("node-2", { parent_node_id: "node-1" }),
    created("node-3", { parent_node_id: "node-1" }),
  );
  expect([checked({}, deep, "node-2"), checked({}, deep, "node-3"), checked({}, broad, "node-1")]).toEqual([
    { ok: true, dependencies: [], refs: {} },
    { ok: false, reason: "work is already 3 levels deep. Do it yourself." },
    { ok: false, reason: "node-1 has 2 sub-nodes already. Do the rest yourself." },
  ]);
});

test("a share is reserved from what is left above it", () => {
  const now = situation(
    created("node-1", { budget_usd: 0.5 }),
    created("node-2", { budget_usd: 0.25, parent_node_id: "node-1" }),
  );
  expect([checked({ budget_usd: 0.5 }, now), checked({ budget_usd: 0.75 }, now)]).toEqual([
    { ok: true, dependencies: [], refs: {} },
    { ok: false, reason: "$0.75 is more than the $0.5000 that the agent has left." },
  ]);
  expect([checked({ budget_usd: 0.25 }, now, "node-1"), checked({ budget_usd: 0.3 }, now, "node-1")]).toEqual([
    { ok: true, dependencies: [], refs: {} },
    { ok: false, reason: "$0.3 is more than the $0.2500 that node-1 has left." },
  ]);
});

/** Three nodes, the first completed. */
function threeNodes(): Situation {
  const end = { node_id: "node-1", worker_id: "alice", summary: "" } as const;
  const files = ["a.md", "data/t.csv"].map((path) => ({ path, sha256: "", bytes: 1 }));
  return situation(
    created("node-1"),
    created("node-2"),
    created("node-3"),
    { type: "node.published", data: { ...end, files } },
    { type: "node.completed", data: end },
  );
}

/** An agent with a budget of $1. */
function situation(...facts: NewFact[]): Situation {
  const data = { name: "n", goal: "g", mode: "finite", model: "m", worker_model: "m" } as const;
  const now = begin(
    numbered({ type: "agent.created", data: { ...data, budget_usd: 1, project: null, tools: null } }, 1),
  );
  for (const [at, fact] of facts.entries()) apply(now, numbered(fact, at + 2));
  return now;
}

function numbered(fact: NewFact, seq: number): Fact {
  return { ...fact, seq, ts: 0, agent_id: "agent-abcd" } as Fact;
}

type Created = Extract<NewFact, { type: "node.created" }>["data"];

function created(node_id: NodeId, more: Partial<Created> = {}): NewFact {
  const nothing = { dependencies: [], refs: {}, deliverables: [], parent_node_id: null };
  const who = { run_id: "run-1", node_id, task: "T", inference: "multi", created_by: "coordinator" } as const;
  return { type: "node.created", data: { ...who, ...nothing, ...more } };
}

function failed(node_id: NodeId): NewFact {
  return { type: "node.failed", data: { node_id, worker_id: "alice", outcome: { kind: "failed", error: "no" } } };
}
