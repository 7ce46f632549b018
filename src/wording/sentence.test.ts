import { expect, test } from "vitest";
import { type Fact, factTypes, HUMAN, type NewFact } from "../protocol/index.ts";
import { sampleFact } from "../protocol/testing/each-fact.ts";
import { clauseOf, lineOf, type Style } from "./sentence.ts";
import { sentenceOf } from "./sentence-of.ts";

const STYLE: Style = {
  name: (id) => ({ ann: "Ann", human: "you", "*": "everyone" })[id] ?? id,
  time: (seconds) => `@${seconds}`,
};

function said(fact: Fact): string {
  const sentence = sentenceOf(fact, STYLE);
  if (!sentence) return "";
  return lineOf(clauseOf(sentence), sentence.text ?? "", sentence.next);
}

const told = (fact: NewFact) => said({ seq: 1, agent_id: "agent-test", ts: 0, ...fact } as Fact);

test("every kind of fact is a sentence, and no two kinds that differ are told alike", () => {
  const all = factTypes.map((type) => [type, said(sampleFact(type))] as const);
  expect(all.filter(([type, line]) => line.includes(type) || /undefined|null|NaN|\[object|_id\b/.test(line))).toEqual(
    [],
  );
  expect(all.filter(([, line]) => line.trim().split(/\s+/).length < 3)).toEqual([]);
  expect(all.length - new Set(all.map(([, line]) => line)).size).toBe(0);
});

test("the person who reads it is spoken to, in every sentence that can be about them", () => {
  const mine = { worker_id: HUMAN, node_id: "node-2" as const };
  expect([
    told({ type: "node.started", data: mine }),
    told({ type: "node.retried", data: { ...mine, error: "No time." } }),
    told({ type: "worker.briefed", data: { worker_id: HUMAN, identity: "A cook" } }),
    told({ type: "worker.retired", data: mine }),
    told({ type: "worker.idle", data: mine }),
    told({ type: "node.cancelled", data: { node_id: "node-2", by: HUMAN, reason: "Not needed." } }),
    told({ type: "trigger.paused", data: { trigger_id: "trigger-1", by: HUMAN } }),
  ]).toEqual([
    "You begin node-2",
    "You try node-2 again: No time.",
    "You have a new brief: A cook",
    "You were retired",
    "You are free",
    "You cancelled node-2: Not needed.",
    "trigger-1 was paused by you",
  ]);
});

test("a node that the same worker has again is not told as taken from them", () => {
  const ann = "ann";
  const again = { node_id: "node-2", reserved_for: ann, why: "reassigned" } as const;
  expect([
    told({ type: "node.reopened", data: { ...again, from: ann } }),
    told({ type: "node.reopened", data: { ...again, from: HUMAN } }),
  ]).toEqual(["node-2 is open again for Ann", "node-2 is open again for Ann, taken from you"]);
});

test("text from outside stays as it is: what draws the sentence makes it safe", () => {
  const task = "Survey\n\u001b[2J\u202Ethe docs";
  const fact = sampleFact("node.created") as Extract<Fact, { type: "node.created" }>;
  expect(sentenceOf({ ...fact, data: { ...fact.data, task } }, STYLE)).toEqual({
    who: "coordinator",
    subject: "coordinator",
    does: "created node-1",
    text: task,
    detail: undefined,
    tone: "new",
    node: "node-1",
  });
});

test("a kind of fact that this version does not know has no sentence", () => {
  expect(sentenceOf({ ...sampleFact("agent.resumed"), type: "constructor" } as unknown as Fact, STYLE)).toBeUndefined();
});
