import { expect, test } from "vitest";
import { type Fact, type NewFact, NO_USAGE } from "../protocol/index.ts";
import { apply, begin, describeBoard, openNodes, readyNodes, type Situation } from "./index.ts";

const ALICE = { worker_id: "alice", node_id: "node-1" } as const;

test("a fact that was already applied changes nothing", () => {
  const now = fold(started("run-1"), created("node-1"), { type: "node.assigned", data: ALICE }, spent("alice", 1));
  const before = structuredClone(now);
  apply(now, numbered(started("run-1"), 2));
  apply(now, numbered(spent("alice", 1), 5));
  expect(now).toEqual(before);
});

test("a node goes from pending to completed, keeps what it published, and knows its newest fact", () => {
  const files = [{ path: "a.md", sha256: "00", bytes: 2 }];
  const states = statesOf(
    created("node-1"),
    { type: "node.assigned", data: ALICE },
    { type: "node.started", data: ALICE },
    { type: "tool.called", data: { ...ALICE, call_id: "c", tool: "look", gist: "" } },
    { type: "node.published", data: { ...ALICE, summary: "80", files } },
    { type: "node.completed", data: { ...ALICE, summary: "80" } },
  );
  const alice = { worker_id: "alice" };
  const taken = { ...alice, assigned_seq: 3 };
  expect(states).toEqual([
    { facts: 1, last_seq: 2, status: "pending" },
    { facts: 2, last_seq: 3, status: "assigned", ...taken },
    { facts: 3, last_seq: 4, status: "running", ...taken, started_ts: 4 },
    { facts: 4, last_seq: 5, status: "running", ...taken, started_ts: 4 },
    { facts: 5, last_seq: 6, status: "publishing", ...alice, summary: "80", files, partial: null },
    {
      facts: 6,
      last_seq: 7,
      status: "completed",
      ...alice,
      summary: "80",
      files,
      ended_ts: 7,
      ended_seq: 7,
      unheard: [],
    },
  ]);
});

test("a node that is tried again is still the same assignment, and one that failed keeps what it left", () => {
  const files = [{ path: "a.md", sha256: "00", bytes: 2 }];
  const outcome = { kind: "failed", error: "no" } as const;
  const states = statesOf(
    created("node-1"),
    { type: "node.assigned", data: ALICE },
    { type: "node.started", data: ALICE },
    { type: "node.retried", data: { ...ALICE, error: "no" } },
    { type: "node.started", data: ALICE },
    { type: "node.published", data: { ...ALICE, summary: "Partial", files } },
    { type: "node.failed", data: { ...ALICE, outcome } },
  );
  const taken = { worker_id: "alice", assigned_seq: 3 };
  expect(states.slice(3)).toEqual([
    { facts: 4, last_seq: 5, failures: 1, status: "assigned", ...taken },
    { facts: 5, last_seq: 6, failures: 1, status: "running", ...taken, started_ts: 6 },
    {
      facts: 6,
      last_seq: 7,
      failures: 1,
      status: "publishing",
      worker_id: "alice",
      summary: "Partial",
      files,
      partial: null,
    },
    {
      facts: 7,
      last_seq: 8,
      failures: 1,
      status: "failed",
      worker_id: "alice",
      outcome,
      files,
      ended_ts: 8,
      ended_seq: 8,
      unheard: [],
    },
  ]);
});

test("ready is what is pending and has all it depends on completed; open is what a run still has to finish", () => {
  const now = fold(
    started("run-1"),
    created("node-1"),
    created("node-2"),
    created("node-3", { dependencies: ["node-1", "node-2"] }),
    created("node-4", { dependencies: ["node-1"] }),
    { type: "node.completed", data: { ...ALICE, summary: "1" } },
    { type: "node.failed", data: { worker_id: "bob", node_id: "node-2", outcome: { kind: "failed", error: "no" } } },
    created("node-5", { run_id: "run-2" }),
    { type: "node.assigned", data: { worker_id: "carol", node_id: "node-5" } },
  );
  expect(readyNodes(now.board).map((node) => node.id)).toEqual(["node-4"]);
  expect(openNodes(now.board, "run-1").map((node) => node.id)).toEqual(["node-3", "node-4"]);
  expect(openNodes(now.board, "run-2").map((node) => node.id)).toEqual(["node-5"]);
});

test("a parent knows its children, and the board can be said in words", () => {
  const now = fold(
    created("node-1", { task: "Measure\nall of it" }),
    created("node-2", { parent_node_id: "node-1" }),
    { type: "node.assigned", data: { worker_id: "bob", node_id: "node-2" } },
    { type: "node.completed", data: { ...ALICE, summary: "80\nand more" } },
    created("node-3"),
    { type: "node.failed", data: { worker_id: "bob", node_id: "node-3", outcome: { kind: "exhausted", turns: 3 } } },
    created("node-4"),
    {
      type: "node.failed",
      data: { worker_id: "bob", node_id: "node-4", outcome: { kind: "failed", error: "no\nkey" } },
    },
  );
  expect(now.board.nodes["node-1"]?.children).toEqual(["node-2"]);
  expect(describeBoard(now.board)).toBe(
    `- node-1 [completed] Measure — alice: 80
- node-2 [assigned] Task — bob
- node-3 [failed] Task — bob: exhausted
- node-4 [failed] Task — bob: no`,
  );
});

test("an agent is what was last said of it; a run that ended late does not end the one after it", () => {
  const now = fold(
    started("run-1"),
    { type: "agent.failed", data: { error: "no key" } },
    { type: "agent.started", data: { why: "resumed", pid: 1 } },
    started("run-2"),
    { type: "run.finished", data: { run_id: "run-1", outcome: { kind: "finished", summary: "late" } } },
  );
  const { status, error, runs, goals, run } = now.agent;
  expect({ status, error, runs, goals, run }).toEqual({
    status: "working",
    error: null,
    runs: 2,
    goals: { "run-1": "Go", "run-2": "Go" },
    run: { id: "run-2", goal: "Go", started_ts: 5, started_seq: 5, finished: null, trigger: null },
  });
});

test("a worker is what was last said of it, with its node only while it has one", () => {
  const spawned = { run_id: "run-1", worker_id: "alice", name: "Alice", kind: "harnessed", model: "m" } as const;
  const said: NewFact[] = [
    { type: "worker.spawned", data: spawned },
    { type: "worker.busy", data: ALICE },
    { type: "worker.waiting", data: { ...ALICE, for: "rate_limit", until_ts: 9 } },
    { type: "worker.stopped", data: { worker_id: "alice" } },
    { type: "worker.idle", data: { worker_id: "alice" } },
    { type: "worker.busy", data: { worker_id: "nobody", node_id: null } },
  ];
  const states = said.map((_, at) => fold(...said.slice(0, at + 1)).roster);
  const alice = { id: "alice", spawned };
  expect(states).toEqual([
    { alice: { ...alice, status: "idle" } },
    { alice: { ...alice, status: "busy", node_id: "node-1" } },
    { alice: { ...alice, status: "waiting", node_id: "node-1", for: "rate_limit" } },
    { alice: { ...alice, status: "stopped" } },
    { alice: { ...alice, status: "idle" } },
    { alice: { ...alice, status: "idle" } },
  ]);
});

test("spending is counted in total and by worker; what nobody knows the price of is counted apart", () => {
  const now = fold(spent("alice", 0.5), spent("bob", null), spent("alice", 0.25), {
    type: "model.failed",
    data: { worker_id: "bob", node_id: null, model: "m", turn: 1, reason: "server", message: "", retry_in_ms: null },
  });
  const usage = (calls: number) => ({ ...NO_USAGE, input: 10 * calls, output: calls });
  expect(now.spending).toEqual({
    total: { calls: 3, failures: 1, usage: usage(3), cost_usd: 0.75, unpriced_calls: 1 },
    by_worker: {
      alice: { calls: 2, failures: 0, usage: usage(2), cost_usd: 0.75, unpriced_calls: 0 },
      bob: { calls: 1, failures: 1, usage: usage(1), cost_usd: 0, unpriced_calls: 1 },
    },
    dearest: { m: { usd: 0.5, tokens: 11 } },
    warned: false,
  });
});

test("the newest messages are kept: what people said to each other, the newest 500", () => {
  const said: NewFact[] = Array.from({ length: 510 }, (_, at) => ({
    type: "message.sent",
    data: { message_id: `${at}`, from: "alice", to: "bob", text: `${at}`, file: `${at}.md`, hops: 1 },
  }));
  const { thread } = fold(started("run-1"), ...said, { type: "agent.completed", data: { summary: "done" } });
  expect([thread.length, thread[0], thread.at(-1)]).toEqual([
    500,
    { seq: 14, ts: 14, from: "alice", to: "bob", text: "11" },
    { seq: 513, ts: 513, from: "coordinator", to: "human", text: "done" },
  ]);
});

test("a log that does not begin with its agent is refused", () => {
  expect(() => begin(numbered(started("run-1"), 1))).toThrow("A log begins with agent.created, not with run.started.");
});

function fold(...facts: NewFact[]): Situation {
  const data = { name: "n", goal: "g", mode: "finite", model: "m", worker_model: "m" } as const;
  const nothing = { budget_usd: null, project: null, tools: null };
  const now = begin(numbered({ type: "agent.created", data: { ...data, ...nothing } }, 1));
  for (const [at, fact] of facts.entries()) apply(now, numbered(fact, at + 2));
  return now;
}

/** What node-1 was after each of the facts, apart from what never changes. */
function statesOf(...facts: NewFact[]): object[] {
  return facts.map((_, at) => {
    const node = fold(...facts.slice(0, at + 1)).board.nodes["node-1"];
    if (!node) throw new Error("no node-1");
    const { id: _id, spec: _spec, created_ts: _ts, children: _children, authors: _authors, ...state } = node;
    const { reserved_for: _for, spent_usd: _spent, failures, ...rest } = state;
    return failures > 0 ? { failures, ...rest } : rest;
  });
}

function numbered(fact: NewFact, seq: number): Fact {
  return { ...fact, seq, ts: seq, agent_id: "agent-abcd" } as Fact;
}

function started(run_id: "run-1" | "run-2"): NewFact {
  return { type: "run.started", data: { run_id, goal: "Go" } };
}

type Created = Extract<NewFact, { type: "node.created" }>["data"];

function created(node_id: Created["node_id"], more: Partial<Created> = {}): NewFact {
  const data: Created = {
    run_id: "run-1",
    node_id,
    task: "Task",
    inference: "multi",
    dependencies: [],
    refs: {},
    deliverables: [],
    parent_node_id: null,
    created_by: "coordinator",
    ...more,
  };
  return { type: "node.created", data };
}

function spent(worker_id: string, cost_usd: number | null): NewFact {
  const usage = { ...NO_USAGE, input: 10, output: 1 };
  return {
    type: "model.responded",
    data: { worker_id, node_id: null, model: "m", turn: 1, usage, cost_usd, finish: "stop", ms: 1 },
  };
}
