import { expect, test } from "vitest";
import { apply, begin } from "../../projections/index.ts";
import type { Fact, NewFact } from "../../protocol/index.ts";
import { manualClock } from "../../testing/index.ts";
import { openHumanLine } from "./human-line.ts";
import type { Recorder } from "./recorded-loop.ts";

const lead = { worker_id: "coordinator", node_id: null } as const;

/** It is told as news, and news is told once. */
test("a call that was put off before a crash does not have the answer as its result, too", async () => {
  const line = lineAfter(
    { type: "human.question", data: { ...lead, question_id: "question-1", call_id: "call-1", text: "Red or blue?" } },
    { type: "question.deferred", data: { question_id: "question-1", worker_id: "coordinator" } },
    {
      type: "human.response",
      data: { question_id: "question-1", worker_id: "coordinator", text: "Red.", channel: "terminal" },
    },
  );
  const call = { id: "call-1", type: "call", name: "ask_human", args: {} } as const;
  const said = await line.ask({ question: "Red or blue?" }, call, new AbortController().signal);
  expect(said).toMatch(/^No answer yet: a message came first and follows\. question-1 stays open\./);
});

function lineAfter(...facts: NewFact[]) {
  const born = { name: "n", goal: "g", mode: "finite", model: "m/m", worker_model: "m/m" } as const;
  const nothing = { budget_usd: null, project: null, tools: null };
  const at = { seq: 1, ts: 0, agent_id: "agent-abcd" } as const;
  const now = begin({ ...at, type: "agent.created", data: { ...born, ...nothing } });
  for (const fact of facts) apply(now, { ...at, ...fact, seq: now.seq + 1 } as Fact);
  const log = { subscribe: () => () => {}, append: () => ({ facts: [], durable: Promise.resolve() }) };
  const workplace = { log: log as Partial<Recorder["log"]> as Recorder["log"], now: () => now, pending: () => now };
  const self = { ...lead, conversation: "conversation.jsonl" };
  return openHumanLine(self, { ...workplace, clock: manualClock() }, { isUrgent: false, onNews: () => () => {} });
}
