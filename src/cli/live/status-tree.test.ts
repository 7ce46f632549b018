import { expect, test } from "vitest";
import { apply, begin, type Situation } from "../../projections/index.ts";
import type { Fact, NewFact, NodeId } from "../../protocol/index.ts";
import { boardTable } from "../wording/board-table.ts";
import { noPaint } from "../wording/paint.ts";
import { widthOf } from "../wording/width.ts";
import { statusTree } from "./status-tree.ts";

const created: NewFact = {
  type: "agent.created",
  data: {
    name: "survey-docs",
    goal: "Survey",
    mode: "finite",
    model: "x/y",
    worker_model: "x/y",
    budget_usd: null,
    project: null,
    tools: null,
  },
};

function situationAfter(...facts: NewFact[]): Situation {
  const all: NewFact[] = [created, { type: "run.started", data: { run_id: "run-1", goal: "Survey" } }, ...facts];
  const [first, ...rest] = all.map((fact, i) => ({ seq: i + 1, agent_id: "agent-test", ts: i, ...fact }) as Fact);
  if (!first) throw new Error("There is always a first fact.");
  const now = begin(first);
  for (const fact of rest) apply(now, fact);
  return now;
}

function node(
  number: number,
  task: string,
  place: { parent?: NodeId; after?: NodeId[]; stage?: number } = {},
): NewFact {
  const base = { run_id: "run-1" as const, inference: "multi" as const, refs: {}, deliverables: [] };
  return {
    type: "node.created",
    data: {
      ...base,
      node_id: `node-${number}`,
      task,
      dependencies: place.after ?? [],
      parent_node_id: place.parent ?? null,
      created_by: "coordinator",
      ...(place.stage && { stage: place.stage }),
    },
  };
}

const started = (number: number, worker_id: string): NewFact => ({
  type: "node.started",
  data: { node_id: `node-${number}`, worker_id },
});
const done = (number: number, worker_id: string): NewFact => ({
  type: "node.completed",
  data: { node_id: `node-${number}` as NodeId, worker_id, summary: "done" },
});

const spent: NewFact = {
  type: "model.responded",
  data: {
    worker_id: "coordinator",
    node_id: null,
    model: "x/y",
    turn: 1,
    usage: { input: 14_000, output: 200, cache_read: 0, cache_write: 0, reasoning: 0 },
    cost_usd: 0.0123,
    finish: "stop",
    ms: 10,
  },
};

const team = situationAfter(
  node(1, "Survey a"),
  node(2, "Survey b, which has a title that goes on and on"),
  node(3, "Write the report"),
  started(1, "alice"),
  started(2, "bob"),
  done(1, "alice"),
  spent,
);

test("the tree shows the cost, the coordinator, and each node with who does what", () => {
  const activity = new Map([
    ["coordinator", "waits for the team"],
    ["bob", "read_file docs/b.md"],
    ["alice", "stale"],
  ]);
  expect(statusTree({ now: team, activity, seconds: 62, columns: 70, lines: 12, paint: noPaint })).toEqual([
    "survey-docs · 1/3 nodes · 1 call · 14k tokens · $0.01 · 1:02",
    "★ coordinator: waits for the team",
    "├ ✓ node-1  Survey a — alice",
    "├ ▸ node-2  Survey b, which has a title th… — bob: read_file docs/b.md",
    "└ · node-3  Write the report",
  ]);
});

test("of an agent that goes on, the head counts what was spent since, and says what it was in all", () => {
  const before = { calls: 1, tokens: 14_200, cost_usd: 0.0123, unpriced_calls: 0 };
  const now = situationAfter(spent, spent, spent);
  const [head] = statusTree({ now, activity: new Map(), seconds: 5, before, columns: 90, lines: 2, paint: noPaint });
  expect(head).toBe("survey-docs · 2 calls · 28k tokens · $0.02 · 0:05 (3 calls, $0.04 in all)");
});

test("it never takes more lines or columns than it was given", () => {
  const activity = new Map([["bob", "日本語のとても長いファイル名を読んでいます"]]);
  for (let lines = 1; lines <= 12; lines++) {
    for (let columns = 2; columns <= 90; columns++) {
      const tree = statusTree({ now: team, activity, seconds: 0, columns, lines, paint: noPaint });
      expect(tree.length).toBeLessThanOrEqual(lines);
      expect(Math.max(...tree.map(widthOf)), `${columns} columns`).toBeLessThanOrEqual(columns);
    }
  }
});

test("with more nodes than lines, what is under way is shown and the rest is counted", () => {
  const numbers = Array.from({ length: 20 }, (_, i) => i + 1);
  const now = situationAfter(
    ...numbers.map((number) => node(number, `Task ${number}`)),
    ...[1, 2, 3, 4, 5].flatMap((number) => [started(number, "ann"), done(number, "ann")]),
    started(18, "bob"),
    { type: "node.failed", data: { node_id: "node-7", worker_id: "bob", outcome: { kind: "stopped" } } },
  );
  expect(statusTree({ now, activity: new Map(), seconds: 0, columns: 60, lines: 7, paint: noPaint })).toEqual([
    "survey-docs · 5/20 nodes · 0 calls · $0 · 0:00",
    "★ coordinator",
    "├ · node-6  Task 6",
    "├ ✗ node-7  Task 7 — bob",
    "├ · node-8  Task 8",
    "├ ▸ node-18 Task 18 — bob",
    "└ … and 16 nodes more: 5 completed, 11 pending",
  ]);
});

const hired = (name: string): NewFact => ({
  type: "worker.spawned",
  data: { run_id: "run-1", worker_id: name.toLowerCase(), name, kind: "harnessed", model: "x/y" },
});

const grown = situationAfter(
  {
    type: "stage.started",
    data: {
      run_id: "run-1",
      stage: 1,
      name: "Measuring",
      contract: { max_iterations_per_node: 40, timeout_seconds: 60, checkpoint_policy: "majority" },
    },
  },
  ...["Alice", "Bob", "Carol", "David"].map(hired),
  node(1, "Measure chip A", { stage: 1 }),
  node(2, "Measure chip B", { stage: 1 }),
  node(3, "Write the report", { after: ["node-1", "node-2"], stage: 1 }),
  { type: "node.reserved", data: { node_id: "node-3", worker_id: "alice" } },
  started(1, "alice"),
  started(2, "bob"),
  node(4, "Wire the probe", { parent: "node-2", stage: 1 }),
  node(5, "Read the meter", { parent: "node-2", stage: 1 }),
  node(6, "Find the screw", { parent: "node-4", stage: 1 }),
  started(4, "carol"),
  started(6, "david"),
  done(1, "alice"),
);

test("sub-nodes stand under the node that made them, with names, and with why somebody or something waits", () => {
  const activity = new Map([
    ["bob", "waits for its sub-nodes"],
    ["carol", "waits for its sub-nodes"],
    ["david", "thinking"],
  ]);
  expect(statusTree({ now: grown, activity, seconds: 5, columns: 80, lines: 12, paint: noPaint })).toEqual([
    "survey-docs · stage 1: Measuring · 1/6 nodes · 0 calls · $0 · 0:05",
    "★ coordinator",
    "├ ✓ node-1  Measure chip A — Alice",
    "├ ▸ node-2  Measure chip B — Bob: waits for its sub-nodes",
    "│ ├ ▸ node-4  Wire the probe — Carol: waits for its sub-nodes",
    "│ │ └ ▸ node-6  Find the screw — David: thinking",
    "│ └ · node-5  Read the meter",
    "└ · node-3  Write the report — after node-2; for Alice",
  ]);
  expect(statusTree({ now: grown, activity, seconds: 5, columns: 60, lines: 6, paint: noPaint })).toEqual([
    "survey-docs · stage 1: Measuring · 1/6 nodes · 0 calls · $0…",
    "★ coordinator",
    "├ ▸ node-2  Measure chip B — Bob: waits for its sub-nodes",
    "│ └ ▸ node-4  Wire the probe — Carol: waits for its sub-nod…",
    "│   └ ▸ node-6  Find the screw — David: thinking",
    "└ … and 3 nodes more: 1 completed, 2 pending",
  ]);
});

test("the board is told stage by stage, with who, with what must come first, and with what came of it", () => {
  expect(boardTable(grown, "working", 80, noPaint)).toEqual([
    "NODE        STATUS     WORKER  AFTER           TASK",
    "Stage 1: Measuring — running, a majority must complete",
    "node-1      completed  Alice                   Measure chip A — done",
    "node-2      running    Bob                     Measure chip B",
    "├ node-4    running    Carol                   Wire the probe",
    "│ └ node-6  running    David                   Find the screw",
    "└ node-5    pending                            Read the meter",
    "node-3      pending    Alice   node-1, node-2  Write the report",
  ]);
});
