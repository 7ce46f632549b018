import { expect, test } from "vitest";
import { z } from "zod";
import type { Entry, Outcome, UserEntry } from "../protocol/index.ts";
import { both, call, say, script } from "../testing/index.ts";
import { defineTool } from "../tools/tool.ts";
import { Toolbox } from "../tools/toolbox.ts";
import { type LoopAssignment, workLoop } from "./loop/work-loop.ts";

const goal: UserEntry = { role: "user", from: "human", content: "Go." };
const nudge: UserEntry = { role: "user", from: "agiraph", content: "Go on." };
const signal = new AbortController().signal;
const noMail = () => [];

const shape = { description: "", repeatable: true };
const look = defineTool({ ...shape, name: "look", parameters: z.object({}), run: async () => "seen" });
const end = defineTool({
  ...shape,
  name: "end",
  parameters: z.object({ summary: z.string() }),
  run: async ({ summary }) => ({ content: "ended", ending: { kind: "finished", summary } as const }),
});
const toolbox = new Toolbox([look, end]);

test("what a reply calls after it has ended the work is answered and not done", async () => {
  const model = script(both(call("end", { summary: "one" }), call("look"), call("end", { summary: "two" })));
  const { told, outcome } = await play(workLoop(assignment(), { model, toolbox, mail: noMail }, signal));
  const late = "tool Not run: the work had ended before it.";
  expect(told).toEqual(["assistant", "tool ended", late, late]);
  expect(outcome).toEqual({ kind: "finished", summary: "one" });
});

test("turns that were used before a crash stay used", async () => {
  const model = script(call("look"));
  const { outcome } = await play(
    workLoop(assignment({ turn: 3, maxTurns: 3 }), { model, toolbox, mail: noMail }, signal),
  );
  expect(outcome).toEqual({ kind: "exhausted", turns: 3 });
  model.assertDone();
});

test("what a reply without a call is answered with is kept like everything else that was said", async () => {
  const model = script(say("Hm."), call("end", { summary: "done" }).after("Go on."));
  const { told } = await play(workLoop(assignment(), { model, toolbox, mail: noMail }, signal));
  expect(told).toEqual(["assistant", "user Go on.", "assistant", "tool ended"]);
});

test("a call that ends the work, cut off by a crash and repeated, ends it: the model is not asked again", async () => {
  const cut = await repliesOf(call("end", { summary: "done" }));
  const again = workLoop(
    assignment({ history: [goal, ...cut], turn: 2 }),
    { model: script(), toolbox, mail: noMail },
    signal,
  );
  expect(await play(again)).toEqual({ told: ["tool ended"], outcome: { kind: "finished", summary: "done" } });
});

test("after a crash the model is told the results of the calls that were cut off", async () => {
  const cut = await repliesOf(both(call("look"), call("look")));
  const model = script(call("end", { summary: "done" }));
  await play(workLoop(assignment({ history: [goal, ...cut], turn: 2 }), { model, toolbox, mail: noMail }, signal));
  expect(model.requests[0]?.history.map(tell)).toEqual(["user Go.", "assistant", "tool seen", "tool seen"]);
});

test("a reply without a call that was answered before the crash is not asked about again", async () => {
  const history = [goal, ...(await repliesOf(say("Hm."))), nudge];
  const model = script(call("end", { summary: "done" }));
  const { told } = await play(workLoop(assignment({ history, turn: 2 }), { model, toolbox, mail: noMail }, signal));
  expect(told).toEqual(["assistant", "tool ended"]);
  expect(model.requests[0]?.history.map(tell)).toEqual(["user Go.", "assistant", "user Go on."]);
});

test("a reply without a call that is answered after the crash is heard by the model", async () => {
  const history = [goal, ...(await repliesOf(say("Hm.")))];
  const model = script(call("end", { summary: "done" }));
  await play(workLoop(assignment({ history, turn: 2 }), { model, toolbox, mail: noMail }, signal));
  expect(model.requests[0]?.history.map(tell)).toEqual(["user Go.", "assistant", "user Go on."]);
});

function assignment(change: Partial<LoopAssignment> = {}): LoopAssignment {
  return {
    system: "S",
    history: [goal],
    turn: 1,
    maxTurns: 5,
    compactable: null,
    onReplyWithoutCall: async () => [nudge],
    ...change,
  };
}

async function play(loop: AsyncGenerator<Entry, Outcome>): Promise<{ told: string[]; outcome: Outcome }> {
  const told: string[] = [];
  for (;;) {
    const step = await loop.next();
    if (step.done) return { told, outcome: step.value };
    told.push(tell(step.value));
  }
}

function tell(entry: Entry): string {
  return entry.role === "assistant" ? "assistant" : `${entry.role} ${entry.content}`;
}

/** The reply as the conversation holds it when a crash cuts the turn off right after it. */
async function repliesOf(step: ReturnType<typeof say>): Promise<Entry[]> {
  const loop = workLoop(assignment(), { model: script(step), toolbox, mail: noMail }, signal);
  const { value } = await loop.next();
  return [value as Entry];
}
