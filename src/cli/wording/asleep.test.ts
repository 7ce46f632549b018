import { expect, test } from "vitest";
import { apply, begin, type Situation } from "../../projections/index.ts";
import type { Fact, NewFact, TriggerAction } from "../../protocol/index.ts";
import { asleepWords } from "./asleep.ts";

const NOW = new Date(2026, 1, 11, 13, 5).getTime() / 1000;

function agentAfter(mode: "finite" | "infinite", ...facts: NewFact[]): Situation {
  const created: NewFact = {
    type: "agent.created",
    data: {
      name: "watch",
      goal: "Watch",
      mode,
      model: "x/y",
      worker_model: "x/y",
      budget_usd: null,
      project: null,
      tools: null,
    },
  };
  const all = [created, ...facts].map((fact, i) => ({ seq: i + 1, agent_id: "agent-test", ts: NOW, ...fact }) as Fact);
  const [first, ...rest] = all;
  if (!first) throw new Error("There is always a first fact.");
  const now = begin(first);
  for (const fact of rest) apply(now, fact);
  return now;
}

const spawned: NewFact = {
  type: "worker.spawned",
  data: { run_id: "run-1", worker_id: "coordinator", name: "Coordinator", kind: "harnessed", model: "x/y" },
};
const begun: NewFact[] = [
  { type: "agent.started", data: { why: "created", pid: 1 } },
  { type: "run.started", data: { run_id: "run-1", goal: "Watch" } },
  spawned,
];
const waits: NewFact = { type: "worker.waiting", data: { worker_id: "coordinator", node_id: null, for: "news" } };
const wake: TriggerAction = { type: "wake_agent", payload: { task: "Look" } };
const dueIn = (number: number, seconds: number, action: TriggerAction = wake): NewFact => ({
  type: "trigger.created",
  data: {
    trigger_id: `trigger-${number}`,
    when: { type: "delayed", config: { delay_seconds: seconds } },
    action,
    missed: "once",
    due: NOW + seconds,
    created_by: "agiraph",
  },
});

type Created = Extract<NewFact, { type: "node.created" }>["data"];
const made = (number: number, more: Partial<Created> = {}): NewFact => ({
  type: "node.created",
  data: {
    run_id: "run-1",
    node_id: `node-${number}`,
    task: "Look",
    inference: "multi",
    dependencies: [],
    refs: {},
    deliverables: [],
    parent_node_id: null,
    created_by: "coordinator",
    ...more,
  },
});

test("an infinite agent that waits for nobody is asleep until its next cycle", () => {
  const said = (...facts: NewFact[]) => asleepWords(agentAfter("infinite", ...begun, ...facts), NOW);
  expect([
    said(dueIn(1, 3600), waits),
    said(dueIn(1, 30), dueIn(2, 3600), waits),
    said(dueIn(1, 86_400), waits),
    said(waits),
    // The upkeep of the memory is no reason to say when it wakes.
    said(dueIn(1, 60, { type: "run_callback", payload: { name: "memory_upkeep" } }), dueIn(2, 3600), waits),
    said(dueIn(1, 3600)),
  ]).toEqual([
    "asleep until 14:05",
    "asleep until 13:05:30",
    "asleep until 2026-02-12 13:05",
    "asleep until someone wakes it",
    "asleep until 14:05",
    undefined,
  ]);
});

test("what is cancelled, held or builds on something cancelled keeps nobody awake", () => {
  const said = (...facts: NewFact[]) => asleepWords(agentAfter("infinite", ...begun, ...facts, waits), NOW);
  const cancelled: NewFact = { type: "node.cancelled", data: { node_id: "node-1", by: "human", reason: "no" } };
  expect([
    said(made(1), cancelled),
    said(made(1), made(2, { dependencies: ["node-1"] }), cancelled),
    said(made(1, { held: true })),
    said(made(1), made(2), cancelled),
  ]).toEqual([
    "asleep until someone wakes it",
    "asleep until someone wakes it",
    "asleep until someone wakes it",
    undefined,
  ]);
});

test("whoever waits for the team is not asleep, and a finite agent sleeps only when it is done", () => {
  const completed: NewFact = { type: "agent.completed", data: { summary: "done" } };
  expect([
    asleepWords(agentAfter("infinite", ...begun, dueIn(1, 3600), made(1), waits), NOW),
    asleepWords(agentAfter("finite", ...begun, dueIn(1, 3600), waits), NOW),
    asleepWords(agentAfter("finite", ...begun, dueIn(1, 3600), completed), NOW),
    asleepWords(agentAfter("finite", ...begun, completed), NOW),
  ]).toEqual([undefined, undefined, "asleep until 14:05", undefined]);
});
