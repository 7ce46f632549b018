import { expect, test } from "vitest";
import { apply, begin, type Situation } from "../projections/index.ts";
import type { Fact, NewFact, NodeId } from "../protocol/index.ts";
import { noPaint } from "./paint.ts";
import { statusTree } from "./status-tree.ts";
import { widthOf } from "./width.ts";

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

function node(number: number, task: string): NewFact {
  const base = { run_id: "run-1" as const, inference: "multi" as const, dependencies: [], refs: {}, deliverables: [] };
  return {
    type: "node.created",
    data: { ...base, node_id: `node-${number}`, task, parent_node_id: null, created_by: "coordinator" },
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
    "├ ✓ node-1   Survey a — alice",
    "├ ▸ node-2   Survey b, which has a title t… — bob: read_file docs/b.md",
    "└ · node-3   Write the report",
  ]);
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
    "├ · node-6   Task 6",
    "├ ✗ node-7   Task 7 — bob",
    "├ · node-8   Task 8",
    "├ ▸ node-18  Task 18 — bob",
    "└ … and 16 nodes more: 5 completed, 11 pending",
  ]);
});
