import { expect, test } from "vitest";
import { z } from "zod";
import type { Entry, Outcome, UserEntry } from "../../protocol/index.ts";
import { both, call, say, script } from "../../testing/index.ts";
import { defineTool } from "../../tools/tool.ts";
import { Toolbox } from "../../tools/toolbox.ts";
import { type LoopAssignment, workLoop } from "./work-loop.ts";

const goal: UserEntry = { role: "user", from: "human", content: "Go." };
const nudge: UserEntry = { role: "user", from: "agiraph", content: "Go on." };

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

const ran: string[] = [];
const note = defineTool({
  name: "note",
  description: "",
  repeatable: true,
  parameters: z.object({ text: z.string() }),
  run: async ({ text }) => {
    ran.push(text);
    return `noted ${text}`;
  },
});
const pay = { ...note, spec: { ...note.spec, name: "pay" }, repeatable: false };
const end = defineTool({
  name: "end",
  description: "",
  repeatable: true,
  parameters: z.object({}),
  run: async () => ({ content: "ended", ending: { kind: "finished", summary: "done" } as const }),
});
const toolbox = new Toolbox([note, pay, end]);

async function play(loop: AsyncGenerator<Entry, Outcome>): Promise<{ entries: Entry[]; outcome: Outcome }> {
  const entries: Entry[] = [];
  for (;;) {
    const step = await loop.next();
    if (step.done) return { entries, outcome: step.value };
    entries.push(step.value);
  }
}

function brief(entries: Entry[]): string[] {
  return entries.map((entry) =>
    entry.role === "assistant"
      ? `assistant ${entry.content.map((part) => (part.type === "text" ? part.text : part.type === "call" ? part.name : part.type)).join(" ")}`
      : `${entry.role} ${entry.content}`,
  );
}

test("it thinks, acts and observes until a tool ends the work, and yields every entry in order", async () => {
  const model = script(both("Noting.", call("note", { text: "a" }), call("note", { text: "b" })), call("end"));
  const { entries, outcome } = await play(
    workLoop(assignment(), { model, toolbox, mail: () => [] }, AbortSignal.timeout(5000)),
  );
  expect(brief(entries)).toEqual([
    "assistant Noting. note note",
    "tool noted a",
    "tool noted b",
    "assistant end",
    "tool ended",
  ]);
  expect(outcome).toEqual({ kind: "finished", summary: "done" });
  model.assertDone();
});

test("mail enters between turns, never between a call and its result", async () => {
  const letters: UserEntry[][] = [[], [{ role: "user", from: "agiraph", content: "A letter." }]];
  const model = script(both(call("note", { text: "a" }), call("note", { text: "b" })), call("end").after("A letter."));
  const { entries } = await play(
    workLoop(assignment(), { model, toolbox, mail: () => letters.shift() ?? [] }, AbortSignal.timeout(5000)),
  );
  expect(brief(entries)).toEqual([
    "assistant note note",
    "tool noted a",
    "tool noted b",
    "user A letter.",
    "assistant end",
    "tool ended",
  ]);
});

test("when the turns run out it says so", async () => {
  const model = script(say("Hm."), say("Hm hm."));
  const { outcome } = await play(
    workLoop(assignment({ maxTurns: 2 }), { model, toolbox, mail: () => [] }, AbortSignal.timeout(5000)),
  );
  expect(outcome).toEqual({ kind: "exhausted", turns: 2 });
});

test("every call gets exactly one result, whatever the model sent", async () => {
  const model = script(
    both(call("nothing", {}), call("note", "{broken"), call("note", { text: 3 }), call("note", { text: "c" })),
    call("end"),
  );
  const { entries } = await play(workLoop(assignment(), { model, toolbox, mail: () => [] }, AbortSignal.timeout(5000)));
  const results = entries
    .filter((entry) => entry.role === "tool")
    .map(({ ok, content }) => [ok, content.split("\n")[0]]);
  expect(results).toEqual([
    [false, 'There is no tool "nothing". You have: note, pay, end.'],
    [false, "The arguments of note were not valid JSON. Send them again as one JSON object."],
    [false, "note did not run, its arguments were wrong:"],
    [true, "noted c"],
    [true, "ended"],
  ]);
});

test("resumed after a crash, an unanswered call is repeated only if it may be", async () => {
  const whole = await play(
    workLoop(
      assignment(),
      {
        model: script(both(call("note", { text: "x" }), call("pay", { text: "y" })), call("end")),
        toolbox,
        mail: () => [],
      },
      AbortSignal.timeout(5000),
    ),
  );
  const reply = whole.entries[0];
  if (!reply) throw new Error("no reply");
  ran.length = 0;
  const { entries, outcome } = await play(
    workLoop(
      assignment({ history: [goal, reply], turn: 2 }),
      { model: script(call("end")), toolbox, mail: () => [] },
      AbortSignal.timeout(5000),
    ),
  );
  expect(ran).toEqual(["x"]);
  expect(brief(entries).map((line) => line.slice(0, 20))).toEqual([
    "tool noted x",
    "tool Outcome unknown",
    "assistant end",
    "tool ended",
  ]);
  expect(outcome).toEqual({ kind: "finished", summary: "done" });
});

test("resumed after its ending was recorded, it ends again and does nothing", async () => {
  const whole = await play(
    workLoop(assignment(), { model: script(call("end")), toolbox, mail: () => [] }, AbortSignal.timeout(5000)),
  );
  const again = await play(
    workLoop(
      assignment({ history: [goal, ...whole.entries], turn: 2 }),
      { model: script(), toolbox, mail: () => [] },
      AbortSignal.timeout(5000),
    ),
  );
  expect(again).toEqual({ entries: [], outcome: { kind: "finished", summary: "done" } });
});

test("resumed after a reply without a call, that reply is answered before the model is asked again", async () => {
  const silent = await play(
    workLoop(
      assignment({ maxTurns: 1 }),
      { model: script(say("Waiting.")), toolbox, mail: () => [] },
      AbortSignal.timeout(5000),
    ),
  );
  const reply = silent.entries[0];
  if (!reply) throw new Error("no reply");
  const { entries } = await play(
    workLoop(
      assignment({ history: [goal, reply], turn: 2 }),
      { model: script(call("end")), toolbox, mail: () => [] },
      AbortSignal.timeout(5000),
    ),
  );
  expect(brief(entries)).toEqual(["user Go on.", "assistant end", "tool ended"]);
});

test("a stop goes through a running tool at once", async () => {
  const controller = new AbortController();
  const slow = defineTool({
    ...note.spec,
    name: "slow",
    repeatable: true,
    parameters: z.object({}),
    run: (_, signal) => {
      const { promise, reject } = Promise.withResolvers<string>();
      signal.addEventListener("abort", () => reject(new Error("killed")));
      controller.abort(new Error("stopped"));
      return promise;
    },
  });
  const loop = workLoop(
    assignment(),
    { model: script(call("slow")), toolbox: new Toolbox([slow]), mail: () => [] },
    controller.signal,
  );
  await expect(play(loop)).rejects.toThrow("stopped");
});
