import { expect, test } from "vitest";
import type { Fact, NewFact, NodeId, RunId } from "../protocol/index.ts";
import { deadlockOf } from "./deadlock.ts";
import { apply, begin } from "./situation.ts";

const run_id: RunId = "run-1";
const models = { model: "m", worker_model: "m", budget_usd: null, project: null, tools: null };
const created: NewFact = { type: "agent.created", data: { name: "n", goal: "g", mode: "finite", ...models } };
const hired = (worker_id: string): NewFact => ({
  type: "worker.spawned",
  data: { run_id, worker_id, name: worker_id, kind: "harnessed", model: "m" },
});
const node = (node_id: NodeId, dependencies: NodeId[] = [], parent_node_id: NodeId | null = null): NewFact => ({
  type: "node.created",
  data: {
    ...{ run_id, node_id, parent_node_id, task: "t", inference: "multi", created_by: "coordinator" },
    ...{ dependencies, refs: {}, deliverables: [] },
  },
});
const begun = (node_id: NodeId, worker_id: string): NewFact[] => [
  { type: "node.assigned", data: { node_id, worker_id } },
  { type: "worker.busy", data: { node_id, worker_id } },
];
type Reason = "human" | "news" | "rate_limit" | "children" | "budget";
const waits = (worker_id: string, node_id: NodeId | null, reason: Reason = "news"): NewFact => ({
  type: "worker.waiting",
  data: { worker_id, node_id, for: reason },
});
const LEAD_WAITS = waits("coordinator", null);
const ALL_WAIT: NewFact[] = [
  created,
  { type: "agent.started", data: { why: "created", pid: 1 } },
  { type: "run.started", data: { run_id, goal: "g" } },
  ...["coordinator", "ann", "ben"].map(hired),
  ...[node("node-1"), node("node-2"), node("node-3", ["node-1"])],
  ...[...begun("node-1", "ann"), ...begun("node-2", "ben")],
  ...[waits("ann", "node-1"), waits("ben", "node-2"), LEAD_WAITS],
];

function deadlockAfter(...facts: NewFact[]): string[] {
  const all = facts.map((fact, at) => ({ ...fact, seq: at + 1, ts: at + 1, agent_id: "agent-abcd" }) as Fact);
  const [first, ...rest] = all;
  if (!first) return [];
  const now = begin(first);
  for (const fact of rest) apply(now, fact);
  return deadlockOf(now).map((each) => `${each.worker_id} ${each.node_id} ${each.for} ${each.since_ts}`);
}

test("where all at work and the coordinator wait for news, each is named, with what for and since when", () => {
  expect(deadlockAfter(...ALL_WAIT)).toEqual(["ann node-1 news 11", "ben node-2 news 13"]);
  // Who waits for sub-nodes, or for money that others hold, waits with them.
  expect(deadlockAfter(...ALL_WAIT, waits("ann", "node-1", "children"))).toEqual([
    "ann node-1 children null",
    "ben node-2 news 13",
  ]);
});

const command = { node_id: "node-1", worker_id: "ann", pid: 7 } as const;
const asked: NewFact = {
  type: "human.question",
  data: { question_id: "question-1", worker_id: "ann", node_id: "node-1", call_id: "c", text: "Which?" },
};
const letter = (to: string): NewFact => ({
  type: "message.sent",
  data: { message_id: "msg-1", from: "human", to, text: "t", file: "f", hops: 1 },
});
const alarm = (created_by: string, type: "wake_agent" | "send_message"): NewFact => ({
  type: "trigger.created",
  data: {
    ...{ trigger_id: "trigger-1", missed: "once", due: 99, created_by },
    when: { type: "delayed", config: { delay_seconds: 60 } },
    action:
      type === "wake_agent"
        ? { type, payload: { task: "t" } }
        : { type, payload: { to: "ann", content: "It is time." } },
  },
});

test.each<[string, NewFact[]]>([
  ["somebody works", [{ type: "worker.busy", data: { worker_id: "ben", node_id: "node-2" } }]],
  ["the coordinator works", [{ type: "worker.busy", data: { worker_id: "coordinator", node_id: null } }]],
  ["somebody waits for the person", [waits("ben", "node-2", "human")]],
  ["somebody waits for a rate limit", [waits("ben", "node-2", "rate_limit")]],
  ["nobody waits for news", [waits("ann", "node-1", "budget"), waits("ben", "node-2", "budget")]],
  ["a question to the person is open", [asked, { ...waits("ann", "node-1") }]],
  ["an approval is awaited", [{ type: "agent.paused", data: { why: "Stage 1 needs your approval." } }]],
  ["it is stopped", [{ type: "agent.stopped", data: { by: "human" } }]],
  ["the run has ended", [{ type: "run.finished", data: { run_id, outcome: { kind: "finished", summary: "s" } } }]],
  ["a message is unread", [letter("ann")]],
  ["a message to all is unread", [letter("*")]],
  ["the coordinator has mail", [letter("coordinator")]],
  ["an alarm of a worker is set", [alarm("ann", "wake_agent")]],
  ["the person has something said to a worker later", [alarm("human", "send_message")]],
  [
    "a command runs",
    [{ type: "process.started", data: { ...command, command: "make", sandbox: "s", background: "bg-7" } }],
  ],
  ["work is about to begin", [node("node-4")]],
  [
    "work has been given out",
    [node("node-4"), { type: "node.assigned", data: { node_id: "node-4", worker_id: "cem" } }],
  ],
  [
    "the person has a node",
    [hired("human"), node("node-4"), ...begun("node-4", "human"), waits("human", "node-4", "human")],
  ],
])("it is none while %s", (_, facts) => {
  expect(deadlockAfter(...ALL_WAIT, ...facts)).toEqual([]);
});

test.each<[string, NewFact[]]>([
  ["an alarm of the person that wakes the coordinator with other work", [alarm("human", "wake_agent")]],
  ["the next cycle of an infinite agent", [alarm("agiraph", "wake_agent")]],
  ["a message that the person has not read", [letter("human")]],
  [
    "work for one of those who wait",
    [node("node-4"), { type: "node.reserved", data: { node_id: "node-4", worker_id: "ann" } }],
  ],
])("it is one in spite of %s", (_, facts) => {
  expect(deadlockAfter(...ALL_WAIT, ...facts)).toHaveLength(2);
});
