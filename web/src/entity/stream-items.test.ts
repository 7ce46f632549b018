import { expect, test } from "vitest";
import type { Fact, NewFact } from "../../../src/protocol/index.ts";
import type { StreamItem } from "./stream-item.ts";
import { EntityStream, isShown } from "./stream-items.ts";

const byAlice = { worker_id: "alice", node_id: "node-1" } as const;

test("a call and its result are one row, a message has its receipt, an answer its question", () => {
  const facts = numbered(
    { type: "tool.called", data: { ...byAlice, call_id: "c1", tool: "read_file", gist: "a.md" } },
    { type: "tool.result", data: { ...byAlice, call_id: "c1", tool: "read_file", ok: true, ms: 5, gist: "hello" } },
    { type: "message.sent", data: { message_id: "m1", from: "human", to: "alice", text: "Hi", file: "", hops: 1 } },
    { type: "message.received", data: { message_id: "m1", by: "alice" } },
    { type: "human.question", data: { ...byAlice, question_id: "q1", call_id: "c2", text: "Which?" } },
    { type: "human.response", data: { question_id: "q1", worker_id: "alice", text: "This", channel: "web" } },
  );
  expect(new EntityStream("alice").follow(facts).map(gistOf)).toEqual([
    ["tool", "read_file a.md → hello"],
    ["message", "human: Hi (seen)"],
    ["question", "Which? This"],
  ]);
});

test("what comes later is folded onto what is there; older facts before it begin it anew", () => {
  const facts = numbered(
    ...Array.from(
      { length: 6 },
      (_, n): NewFact => ({ type: "tool.called", data: { ...byAlice, call_id: `c${n}`, tool: "t", gist: String(n) } }),
    ),
  );
  const stream = new EntityStream("alice");
  const first = stream.follow(facts.slice(2, 4));
  const second = stream.follow(facts.slice(2));
  expect(second.slice(0, 2).every((item, index) => item === first[index])).toBe(true);
  expect(stream.follow(facts).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(stream.follow(facts.slice(0, 3)).map(({ seq }) => seq)).toEqual([1, 2, 3]);
});

test("words that were said aloud are shown once, and speaking calls only when they fail", () => {
  const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 };
  const facts = numbered(
    {
      type: "model.responded",
      data: { ...byAlice, model: "m", turn: 1, usage, cost_usd: null, finish: "stop", ms: 1 },
    },
    {
      type: "message.sent",
      data: { message_id: "m1", from: "alice", to: "human", text: "Done", file: "", hops: 1, aloud: true },
    },
    { type: "tool.called", data: { ...byAlice, call_id: "c1", tool: "send_message", gist: "Bob" } },
    {
      type: "tool.result",
      data: { ...byAlice, call_id: "c1", tool: "send_message", ok: false, ms: 1, gist: "no Bob" },
    },
    { type: "tool.called", data: { ...byAlice, call_id: "c2", tool: "send_message", gist: "Carol" } },
  ).map((fact) => ({ ...fact, ts: 7 }));
  expect(new EntityStream("alice").follow(facts).filter(isShown).map(gistOf)).toEqual([
    ["message", "alice: Done (queued)"],
    ["tool", "send_message Bob → no Bob"],
  ]);
});

test("in a stream of their own people are not named, but for the reader", () => {
  const facts = (worker_id: string) => numbered({ type: "node.assigned", data: { worker_id, node_id: "node-2" } });
  const told = ["alice", "human"].flatMap((id) => new EntityStream(id).follow(facts(id)));
  expect(told).toMatchObject([{ text: "takes on node-2" }, { text: "You take on node-2" }]);
});

test("a node of the person's own is put before them in its own words, not as a question of theirs", () => {
  const mine = { worker_id: "human", node_id: "node-2" } as const;
  const facts = numbered(
    {
      type: "worker.spawned",
      data: { run_id: "run-1", worker_id: "human", name: "Human", kind: "human", model: "human" },
    },
    {
      type: "human.question",
      data: { ...mine, question_id: "q1", call_id: "yours-node-2", text: "node-2 is yours: Weigh it\nTwice." },
    },
    { type: "human.question", data: { ...byAlice, question_id: "q2", call_id: "c2", text: "Which?" } },
  );
  expect(new EntityStream("coordinator").follow(facts)).toMatchObject([
    { kind: "line", text: "node-2 is yours: Weigh it", worker: "human" },
    { kind: "line", text: "asks you: Which?", who: "alice", worker: "alice" },
  ]);
});

function numbered(...facts: NewFact[]): Fact[] {
  return facts.map((fact, index) => ({ ...fact, seq: index + 1, ts: index, agent_id: "agent-test" }) as Fact);
}

function gistOf(item: StreamItem): [string, string] {
  switch (item.kind) {
    case "tool":
      return [item.kind, `${item.tool} ${item.gist} → ${item.result?.gist}`];
    case "message":
      return [item.kind, `${item.from}: ${item.text} (${item.receipt})`];
    case "question":
      return [item.kind, `${item.question.text} ${item.answer?.text}`];
    default:
      return [item.kind, ""];
  }
}
