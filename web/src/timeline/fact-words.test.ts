import { expect, test } from "vitest";
import { type Fact, factTypes, HUMAN, type NewFact } from "../../../src/protocol/index.ts";
import { EACH, sampleFact } from "../../../src/protocol/testing/each-fact.ts";
import { factWords } from "./fact-words.ts";

const NAMES: Readonly<Record<string, string>> = { ann: "Ann", coordinator: "Coordinator", human: "You" };
const words = (fact: Fact) => factWords(fact, (id) => NAMES[id] ?? id);
const told = (fact: NewFact) => words({ seq: 1, agent_id: "agent-test", ts: 0, ...fact } as Fact);

test("every kind of fact is told in words, and no two kinds that differ are told alike", () => {
  const all = factTypes.map((type) => [type, words(sampleFact(type))] as const);
  // Nothing of a name of a kind or a field, and nothing left out: each is a sentence, or an id and a sentence.
  expect(all.filter(([type, line]) => line.includes(type) || /undefined|null|NaN|\[object|_id\b/.test(line))).toEqual(
    [],
  );
  expect(all.filter(([, line]) => line.trim().split(/\s+/).length < 2)).toEqual([]);
  expect(all.length - new Set(all.map(([, line]) => line)).size).toBe(0);
});

test("the person is spoken to", () => {
  const mine = { worker_id: HUMAN, node_id: "node-2" as const };
  expect([
    told({ type: "node.assigned", data: mine }),
    told({ type: "node.started", data: mine }),
    told({ type: "worker.waiting", data: { ...mine, for: "human" } }),
    told({
      type: "human.question",
      data: { ...mine, question_id: "q", call_id: "yours-node-2", text: "node-2 is yours: Weigh it\nTwice." },
    }),
    told({ type: "node.published", data: { ...mine, summary: "3 kg", files: [] } }),
    told({ type: "worker.idle", data: mine }),
    told({ type: "message.sent", data: { ...EACH["message.sent"], from: HUMAN, to: "ann" } }),
    words(sampleFact("message.sent")),
    words(sampleFact("human.question")),
    words(sampleFact("human.response")),
    words(sampleFact("agent.stopped")),
  ]).toEqual([
    "You take on node-2",
    "You begin node-2",
    "You are at work on node-2",
    "node-2 is yours: Weigh it",
    "You published node-2: 3 kg",
    "You are free",
    "You write to Ann: Hello",
    "Ann writes to you: Hello",
    "Ann asks you: Which?",
    "You answered Ann: a",
    "The agent was stopped by you",
  ]);
});

test("what a tool is called and told is seen as it is, in one line", () => {
  const call = { ...EACH["tool.called"], worker_id: "ann", tool: "read\u202E" };
  expect([
    told({ type: "tool.called", data: { ...call, gist: "fdp\u202E.exe\nmore" } }),
    told({ type: "tool.result", data: { ...EACH["tool.result"], ...call, gist: "ok" } }),
  ]).toEqual(["Ann calls read⟨U+202E⟩: fdp⟨U+202E⟩.exe", "Ann ran read⟨U+202E⟩: ok"]);
});

test("a kind of fact that this page does not know is told by its name", () => {
  expect(told({ type: "moon.landed", data: {} } as unknown as NewFact)).toBe("moon.landed");
});
