import { expect, test } from "vitest";
import type { Fact, NewFact } from "../protocol/index.ts";
import { apply, begin, nextOutgoing, type Situation } from "./index.ts";

const OPENED: NewFact = { type: "channel.opened", data: { channel: "pager", to: ["questions", "messages", "ends"] } };

test("what is said to the human waits for its channels, oldest first, until each has carried it", () => {
  const now = situation(
    OPENED,
    { type: "channel.opened", data: { channel: "log", to: ["messages"] } },
    message("msg-1"),
    question("question-1"),
  );
  const said = { topic: "messages", of: "msg-1", from: "alice", text: "msg-1", ts: 4, fact: 4 };
  expect(now.outbox.waiting).toEqual([
    { ...said, channels: ["pager", "log"] },
    { topic: "questions", of: "question-1", from: "alice", text: "question-1", ts: 5, fact: 5, channels: ["pager"] },
  ]);
  tell(now, { type: "channel.delivered", data: { channel: "pager", of: "msg-1", fact: 4 } });
  expect([nextOutgoing(now.outbox, "pager")?.of, nextOutgoing(now.outbox, "log")?.of]).toEqual(["question-1", "msg-1"]);
  tell(now, { type: "channel.failed", data: { channel: "log", of: "msg-1", fact: 4, why: "", attempts: 1 } });
  expect(now.outbox.waiting.map(({ of }) => of)).toEqual(["question-1"]);
});

test("nobody is asked what was answered meanwhile", () => {
  const now = situation(OPENED, question("question-1"), question("question-2"), message("msg-1"));
  tell(now, {
    type: "human.response",
    data: { question_id: "question-1", worker_id: "alice", text: "A", channel: "terminal" },
  });
  expect(now.outbox.waiting.map(({ of }) => of)).toEqual(["question-2", "msg-1"]);
  tell(now, { type: "run.finished", data: { run_id: "run-1", outcome: { kind: "finished", summary: "" } } });
  expect(now.outbox.waiting.map(({ of }) => of)).toEqual(["msg-1"]);
});

test("a run that fails, goes on and ends has two ends to tell", () => {
  const now = situation(OPENED, { type: "run.started", data: { run_id: "run-1", goal: "" } });
  tell(now, { type: "agent.failed", data: { error: "no key" } });
  tell(now, { type: "agent.completed", data: { summary: "Done." } });
  expect(now.outbox.waiting.map(({ of, fact, ended, text }) => [of, fact, ended, text])).toEqual([
    ["run-1", 4, "failed", "no key"],
    ["run-1", 5, "completed", "Done."],
  ]);
});

test("a look that found nothing to do is told to nobody", () => {
  const now = situation(OPENED, { type: "run.started", data: { run_id: "run-1", goal: "", trigger: "trigger-1#7" } });
  tell(now, { type: "agent.completed", data: { summary: "HEARTBEAT_OK" } });
  expect([now.outbox.waiting, now.thread.map(({ text }) => text)]).toEqual([[], [""]]);
});

test("its size follows what waits, not what was said", () => {
  const now = situation(OPENED);
  for (let at = 0; at < 2000; at++) {
    tell(now, message(`msg-${at}`));
    tell(now, { type: "channel.delivered", data: { channel: "pager", of: `msg-${at}`, fact: now.seq } });
  }
  expect(now.outbox).toEqual({ open: { pager: { to: ["questions", "messages", "ends"] } }, waiting: [] });
  expect(situation(message("msg-1"), question("question-1")).outbox).toEqual({ open: {}, waiting: [] });
});

function situation(...facts: NewFact[]): Situation {
  const data = { name: "a", goal: "", mode: "finite", model: "m", worker_model: "m", budget_usd: null } as const;
  const now = begin({
    seq: 1,
    ts: 1,
    agent_id: "agent-aaaa",
    type: "agent.created",
    data: { ...data, project: null, tools: null },
  });
  for (const fact of facts) tell(now, fact);
  return now;
}

function tell(now: Situation, fact: NewFact): void {
  apply(now, { ...fact, seq: now.seq + 1, ts: now.seq + 1, agent_id: "agent-aaaa" } as Fact);
}

function question(id: string): NewFact {
  return {
    type: "human.question",
    data: { question_id: id, worker_id: "alice", node_id: null, call_id: id, text: id },
  };
}

function message(id: string): NewFact {
  return { type: "message.sent", data: { message_id: id, from: "alice", to: "human", text: id, file: "f", hops: 1 } };
}
