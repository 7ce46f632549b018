import { expect, test } from "vitest";
import { z } from "zod";
import type { Entry, Outcome, UserEntry } from "../../protocol/index.ts";
import { both, call, fail, type ScriptedModel, type ScriptStep, say, script } from "../../testing/index.ts";
import { defineTool } from "../../tools/tool.ts";
import { Toolbox } from "../../tools/toolbox.ts";
import { sinceSummary } from "./past.ts";
import { type LoopAssignment, workLoop } from "./work-loop.ts";

const goal: UserEntry = { role: "user", from: "human", content: "Go." };
const compactable = {
  flushWords: async () => "Write it down.",
  restate: async () => [{ title: "The board", text: "- node-1 [running] Measure" }],
};
const WINDOW = 4_000;
const limit = WINDOW * 0.75 * 4;

const tools = new Toolbox([
  tool("read", z.object({ bytes: z.number() }), async ({ bytes }) => "r".repeat(bytes)),
  tool("note", z.object({ text: z.string() }), async ({ text }) => `noted ${text}`),
  tool("ask_human", z.object({}), () => new Promise<string>(() => {})),
  tool("end", z.object({}), async () => ({ content: "ended", ending: { kind: "finished", summary: "done" } as const })),
]);
const end = call("end");
const read = (bytes: number) => call("read", { bytes });

test("near the limit it writes down what must not be lost, then goes on from a summary and its last turns", async () => {
  const { entries, outcome, model } = await play([
    read(limit * 0.6),
    read(limit * 0.1),
    read(limit * 0.4),
    both("Noting.", call("note", { text: "a" })),
    say("I am at the third."),
    end,
  ]);
  expect(outcome).toEqual({ kind: "finished", summary: "done" });
  expect(brief(entries)).toEqual([
    "assistant read",
    "tool rrrrrrrrrr",
    "assistant read",
    "tool rrrrrrrrrr",
    "assistant read",
    "tool rrrrrrrrrr",
    "flush Write it down.",
    "assistant Noting. note",
    "tool noted a",
    "assistant I am at the third.",
    "summary",
    "assistant end",
    "tool ended",
  ]);
  const summary = entries.find((entry) => entry.role === "summary");
  expect(summary).toMatchObject({ kept: 0, hidden: 11 });
  const last = model.requests.at(-1)?.history ?? [];
  expect(last.map(({ role }) => role)).toEqual(["summary"]);
  expect(summary?.content).toContain("## The board\n\n- node-1 [running] Measure");
  expect(summary?.content).toContain("## What you noted just now\n\nNoting.\n\nI am at the third.");
  expect(summary?.content).toContain('You called read: {"bytes":4800}\n\nread gave: rrrr');
  expect(summary?.tokens?.before).toBeGreaterThanOrEqual(WINDOW * 0.75);
  expect(summary?.tokens?.after).toBeLessThan(WINDOW * 0.75);
});

test("the last turns are kept as they are, a call with its results, and told after the summary", async () => {
  const { entries, model } = await play([read(limit * 0.9), both("Two.", read(400), read(500)), say("Noted."), end]);
  const summary = entries.find((entry) => entry.role === "summary");
  expect(summary).toMatchObject({ kept: 3 });
  const last = model.requests.at(-1)?.history ?? [];
  expect(brief(last)).toEqual(["summary", "assistant Two. read read", "tool rrrrrrrrrr", "tool rrrrrrrrrr"]);
  expect(last).toEqual(sinceSummary([goal, ...entries]).slice(0, -2));
});

test("news that nobody has answered is kept over the compaction, and comes once", async () => {
  const letters = [[], [{ ...goal, content: "Use metres.", upto: 5 }]];
  const { entries, model } = await play([read(limit), say("Noted."), end.after("Use metres.")], {
    mail: () => letters.shift() ?? [],
  });
  expect(brief(entries).slice(2, 4)).toEqual(["user Use metres.", "flush Write it down."]);
  expect(brief(model.requests.at(-1)?.history ?? [])).toEqual(["summary", "user Use metres."]);
});

test("what the provider counted decides, where it counts; what it counted before the summary does not", async () => {
  const counted = (tokens: number) => ({ usage: { input: tokens, output: 0 } });
  const { entries } = await play([
    call("note", { text: "a" }).with(counted(WINDOW * 0.74)),
    read(3_000).with(counted(WINDOW * 0.76)),
    say("Noted.").with(counted(WINDOW * 0.77)),
    call("note", { text: "b" }).with(counted(WINDOW * 0.2)),
    end,
  ]);
  expect(brief(entries).filter((line) => !line.startsWith("tool"))).toEqual([
    "assistant note",
    "assistant read",
    "flush Write it down.",
    "assistant Noted.",
    "summary",
    "assistant note",
    "assistant end",
  ]);
});

test("a request that the provider refuses is compacted once and sent again; the flush is sent with less", async () => {
  const { entries, outcome, model } = await play([
    both(...Array.from({ length: 5 }, () => read(limit * 0.18))),
    fail("context_too_long"),
    fail("context_too_long"),
    say("Noted."),
    end,
  ]);
  expect(outcome).toEqual({ kind: "finished", summary: "done" });
  expect(brief(entries).slice(6, 9)).toEqual(["flush Write it down.", "assistant Noted.", "summary"]);
  const [, whole = 0, less = 0, least = 0] = model.requests.map(({ history }) => JSON.stringify(history).length);
  expect([less < whole, least < less]).toEqual([true, true]);
});

test("refused again right after a compaction, it is over", async () => {
  const refused = fail("context_too_long", { message: "too long" });
  const refusals = script(read(limit * 0.5), refused, say("Noted."), refused);
  await expect(run(refusals, {})).rejects.toThrow("too long");
});

test("refused after a compaction that went by the wrong window, it is compacted once more for the right one", async () => {
  const { outcome } = await play([read(limit), say("Noted."), fail("context_too_long"), say("Noted."), end]);
  expect(outcome).toEqual({ kind: "finished", summary: "done" });
});

test("when not even a cut request can be sent, it compacts without notes", async () => {
  const refused = fail("context_too_long");
  const { entries } = await play([read(limit * 0.5), refused, refused, refused, refused, end]);
  expect(brief(entries).slice(2, 5)).toEqual(["flush Write it down.", "summary", "assistant end"]);
});

test("one result larger than the window is shown by its beginning, and the work goes on", async () => {
  const { outcome, model } = await play([read(1_000_000), say("Noted."), end]);
  expect(outcome).toEqual({ kind: "finished", summary: "done" });
  for (const { history } of model.requests.slice(1)) expect(JSON.stringify(history).length).toBeLessThan(WINDOW * 4);
});

test("two compactions that did not get below the limit are the last", async () => {
  const { outcome, entries } = await play([read(6_000), say("Noted."), read(6_000), say("Noted."), read(6_000)], {
    system: "s".repeat(limit + 100),
  });
  expect(entries.filter((entry) => entry.role === "summary").length).toBe(2);
  expect(outcome).toMatchObject({ kind: "abandoned", error: expect.stringContaining("is too small for this work") });
});

test("a prompt that fills the window by our estimate is sent all the same: its provider says whether it fits", async () => {
  const { outcome } = await play([end], { system: "s".repeat(WINDOW * 8) });
  expect(outcome).toEqual({ kind: "finished", summary: "done" });
});

test("a call that would wait while things are written down is postponed until later", async () => {
  const later = {
    ok: false,
    content:
      "Not run: write down what must not be lost first, then call this again when the conversation is compacted.",
  };
  const answer = (entry: Entry) => entry.role === "tool" && entry.tool === "ask_human";
  const { entries } = await play([read(limit), call("ask_human"), say("Noted."), end]);
  expect(entries.find(answer)).toMatchObject(later);
  // Killed before it was told so, it is told so.
  const before = [goal, ...entries.slice(0, entries.findIndex(answer))];
  const again = await play([say("Noted."), end], { history: before, turn: 3 });
  expect(again.entries[0]).toMatchObject(later);
});

test("it has three turns to write things down, which are no turns of the work; ending the work ends it", async () => {
  const note = (text: string) => call("note", { text });
  const { outcome } = await play([read(limit), note("a"), note("b"), note("c"), end], { maxTurns: 2 });
  expect(outcome).toEqual({ kind: "finished", summary: "done" });
  const early = await play([read(limit), end]);
  expect(early.outcome).toEqual({ kind: "finished", summary: "done" });
});

test("cut off at any entry of a compaction, it resumes there and comes to the same end", async () => {
  const steps = [
    read(limit * 0.9),
    read(500),
    both("A.", call("note", { text: "a" }), call("note", { text: "b" })),
    say("Noted."),
    end,
  ];
  const whole = await play(steps);
  const compacted = whole.entries.findIndex((entry) => entry.role === "summary");
  for (let cut = 3; cut <= compacted + 1; cut++) {
    const before = whole.entries.slice(0, cut);
    const replies = before.filter((entry) => entry.role === "assistant").length;
    const letters = [{ ...goal, content: "A letter." }];
    const again = await play(steps.slice(replies), {
      history: sinceSummary([goal, ...before]),
      turn: 1 + replies,
      maxTurns: 9,
      onReplyWithoutCall: async () => [{ ...goal, content: "A reminder." }],
      mail: () => letters.splice(0),
    });
    expect([cut, again.outcome]).toEqual([cut, whole.outcome]);
    // The letter is heard once it can no longer be hidden, or when the compaction begins.
    const told = brief([...before, ...again.entries]);
    expect(told.filter((line) => line !== "user A letter.")).toEqual(brief(whole.entries));
    expect(brief(again.model.requests.at(-1)?.history ?? [])).toContain("user A letter.");
  }
});

test("woken late, it goes on from a summary at once; what woke it is whole, also when its process ends right then", async () => {
  const wakings = [false, true, true];
  const woken = { ...compactable, window: 100_000, wokeLate: () => wakings.shift() ?? false };
  const news = { ...goal, from: "agiraph" as const, content: `News. ${"n".repeat(8_000)}`, upto: 5 };
  const letters = [[], [news]];
  const change = { compactable: woken, mail: () => letters.shift() ?? [] };
  const model = script(read(20_000), call("note", { text: "a" }), end).with({ contextWindow: 100_000 });
  const { entries } = await run(model, change, 100_000);
  expect(brief(entries).map((line) => line.slice(0, 20))).toEqual([
    ...["assistant read", "tool rrrrrrrrrr", "user News. nnnnnnnnn", "summary"],
    // Woken a second time with little said since, it goes on from the same one.
    ...["assistant note", "tool noted a", "assistant end", "tool ended"],
  ]);
  const [, second, third] = model.requests.map(({ history }) => brief(history).map((line) => line.slice(0, 20)));
  expect(second).toEqual(["summary", "user News. nnnnnnnnn"]);
  expect(third).toEqual([...(second ?? []), "assistant note", "tool noted a"]);
  expect(sinceSummary([goal, ...entries.slice(0, 4)]).slice(1)).toEqual([news]);
});

interface Change extends Partial<LoopAssignment> {
  mail?: () => UserEntry[];
}

async function play(steps: ScriptStep[], change: Change = {}) {
  const model = script(...steps).with({ contextWindow: WINDOW });
  const done = await run(model, change);
  model.assertDone();
  return { ...done, model };
}

async function run(model: ScriptedModel, { mail = () => [], ...change }: Change, contextWindow = WINDOW) {
  const assignment: LoopAssignment = {
    system: "S",
    history: [goal],
    turn: 1,
    maxTurns: 9,
    compactable,
    onReplyWithoutCall: async () => [],
    ...change,
  };
  const windowed = model.contextWindow === contextWindow ? model : model.with({ contextWindow });
  const loop = workLoop(assignment, { model: windowed, toolbox: tools, mail }, AbortSignal.timeout(5_000));
  const entries: Entry[] = [];
  for (;;) {
    const step = await loop.next();
    if (step.done) return { entries, outcome: step.value };
    entries.push(step.value);
  }
}

function brief(entries: readonly Entry[]): string[] {
  return entries.map((entry) => {
    switch (entry.role) {
      case "assistant":
        return `assistant ${entry.content.map((part) => (part.type === "text" ? part.text : part.type === "call" ? part.name : part.type)).join(" ")}`;
      case "summary":
        return "summary";
      case "user":
        return `${entry.flush ? "flush" : "user"} ${entry.content}`;
      default:
        return `${entry.role} ${entry.content.slice(0, 10)}`;
    }
  });
}

function tool<S extends z.ZodType>(
  name: string,
  parameters: S,
  toDo: (args: z.infer<S>) => Promise<string | { content: string; ending: Outcome }>,
) {
  return defineTool({ name, description: "", repeatable: true, parameters, run: (args) => toDo(args) });
}
