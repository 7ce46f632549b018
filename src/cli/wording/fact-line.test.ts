import { expect, test } from "vitest";
import { factTypes } from "../../protocol/index.ts";
import { DUE, NEXT, sampleFact } from "../../protocol/testing/each-fact.ts";
import { factLine } from "./fact-line.ts";
import { timestamp } from "./format.ts";
import { noPaint } from "./paint.ts";
import { Story } from "./story.ts";
import { storyText } from "./story-text.ts";

test("what a program's turns really cost is told as that, not as a reply", () => {
  const usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0 };
  const said = (cost_usd: number) =>
    factLine({
      ...{ seq: 1, ts: 1, agent_id: "agent-abcd", type: "model.responded" },
      data: {
        worker_id: "ann",
        node_id: "node-1",
        model: "x/y",
        turn: 2,
        usage,
        cost_usd,
        finish: "other",
        ms: 0,
        correction: true,
      },
    });
  expect([said(0.25), said(-0.25)]).toEqual([
    "ann cost $0.25 more than was counted (node-1)",
    "ann cost $0.25 less than was counted (node-1)",
  ]);
});

test("every kind of fact has words: nobody is shown raw JSON", () => {
  expect(factTypes.filter((type) => /[{}]|undefined/.test(factLine(sampleFact(type))))).toEqual([]);
  expect(factTypes.filter((type) => factLine(sampleFact(type)) === "")).toEqual([]);
});

test("what is to happen later reads as a line of the log", () => {
  const words = factTypes.filter((type) => type.startsWith("trigger.")).map((type) => factLine(sampleFact(type)));
  const [due, next] = [timestamp(DUE), timestamp(NEXT)];
  expect(words).toEqual([
    `coordinator set trigger-1, by calendar: 0 9 * * MON (UTC) (next ${due}): Look`,
    `trigger-1 fires and wakes the agent (due ${due}, next ${next})`,
    "trigger-1 looked for changes (saw 120 bytes)",
    "trigger-1 could not be done: The run has ended.",
    `trigger-1 missed its time (was due ${due}) (next ${next})`,
    "trigger-1 was paused by you",
    `trigger-1 was resumed by you (next ${next})`,
    "trigger-1 was cancelled by you",
    "trigger-1 never fires again: It names no further time.",
  ]);
});

test("memory, insights, channels, triggers and held work are told in the story as they happen", () => {
  const story = new Story(() => ({}));
  const kinds = /^(trigger|memory|insight|channel|human)\.|^node\.released$/;
  const lines = factTypes.filter((type) => kinds.test(type)).flatMap((type) => story.tell(sampleFact(type)));
  expect(lines.flatMap((each) => storyText(each, undefined, noPaint))).toEqual([
    "node-1      + may begin",
    "ann         ? Which?",
    "            ?   1  a",
    "            ?   2  b",
    "you         → ann: a",
    "you         → coordinator: Faster",
    "coordinator ✓ wrote memory/a.md",
    "coordinator ▸ summed up 90 entries to make room (80k → 9.0k tokens)",
    "ann         → offers an insight: Chips throttle",
    "coordinator ✓ took insight-1 into memory/a.md",
    "coordinator - declined insight-2: trivial",
    "pager       + now delivers questions",
    "pager       - is closed",
    "pager       ✓ delivered question-1",
    "pager       ✗ could not deliver question-1: 410 (gave up after 1 try)",
    "coordinator + set trigger-1, by calendar: 0 9 * * MON (UTC): Look",
    "trigger-1   ▸ fires and wakes the agent",
    "trigger-1   ✗ could not be done: The run has ended.",
    `trigger-1   ! missed its time (next ${timestamp(NEXT)})`,
    "trigger-1   - was paused by you",
    "trigger-1   ▸ was resumed by you",
    "trigger-1   - was cancelled by you",
    "trigger-1   - never fires again: It names no further time.",
  ]);
});
