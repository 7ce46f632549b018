import { expect, test } from "vitest";
import { type Entry, NO_USAGE, type StoredEntry } from "../../protocol/index.ts";
import { openFlush, pastOf } from "./past.ts";

const reply: Entry = { role: "assistant", content: [], model: "m", usage: NO_USAGE, cost_usd: 0, finish: "stop" };
const task = (content: string, node_id: string, upto: number): Entry => ({
  role: "user",
  from: "coordinator",
  content,
  node_id,
  upto,
});
const system = (content: string): Entry => ({ role: "system", content });
const news = (content: string, upto?: number): Entry => ({
  role: "user",
  from: "agiraph",
  content,
  ...(upto === undefined ? {} : { upto }),
});

const two = stored(
  system("S1"),
  task("First", "node-1", 3),
  reply,
  news("n1", 5),
  reply,
  system("S2"),
  task("Second", "node-2", 8),
  reply,
  news("n2", 11),
  reply,
  news("A reminder."),
);
const begins = (node: string) => (entry: StoredEntry) => entry.role === "user" && entry.node_id === node;

test("a worker takes up its assignment where it was: its own words, turns and news, under the newest prompt", () => {
  const { history, ...rest } = pastOf(two, "assignment", begins("node-2")) ?? { history: [] };
  expect(rest).toEqual({ system: "S2", turn: 3, tried: 0, flushTurns: 0, cursor: 11 });
  expect(history.map(words)).toEqual(["Second", "assistant", "n2", "assistant", "A reminder."]);
});

test("the coordinator's conversation goes on through all its runs; its turns count from the run's beginning", () => {
  const { history, ...rest } = pastOf(two, "beginning", begins("node-2")) ?? { history: [] };
  expect(rest).toEqual({ system: "S2", turn: 3, tried: 0, flushTurns: 0, cursor: 11 });
  expect(history.map(words)).toEqual([
    "First",
    "assistant",
    "n1",
    "assistant",
    "Second",
    "assistant",
    "n2",
    "assistant",
    "A reminder.",
  ]);
});

test("an assignment that was given twice resumes at the second time", () => {
  const again = stored(task("One", "node-1", 1), reply, task("One again", "node-1", 4));
  const { history, ...rest } = pastOf(again, "assignment", begins("node-1")) ?? { history: [] };
  expect([history.map(words), rest]).toEqual([
    ["One again"],
    { system: "", turn: 1, tried: 0, flushTurns: 0, cursor: 4 },
  ]);
});

test("the turns of the tries before this one are known, however often this one is resumed", () => {
  const again: Entry = { role: "user", from: "agiraph", content: "Try once more.", again: true };
  const retried = stored(task("One", "node-1", 1), reply, reply, again, reply);
  const { history, ...rest } = pastOf(retried, "assignment", begins("node-1")) ?? { history: [] };
  expect([history.length, rest]).toEqual([5, { system: "", turn: 4, tried: 2, flushTurns: 0, cursor: 1 }]);
});

test("a summary stands for everything before it", () => {
  const long = stored(task("One", "node-1", 1), reply, { role: "summary", content: "So far." }, reply);
  expect(pastOf(long, "assignment", begins("node-1"))?.history.map(words)).toEqual(["So far.", "assistant"]);
});

const flush: Entry = { role: "user", from: "agiraph", content: "Write it down.", flush: true };
const noted = (content: string): Entry => ({ role: "tool", call_id: "c", tool: "note", ok: true, content });

test("a summary keeps the last entries before its flush, also through the next summary, and hides the flush", () => {
  const first = [task("One", "node-1", 1), reply, news("n1"), reply, flush, reply, noted("written"), reply];
  const once = [...first, { role: "summary", content: "S1", kept: 2 } as const, news("n2"), reply];
  const twice = [...once, flush, reply, { role: "summary", content: "S2", kept: 3 } as const, news("n3")];
  const shown = (...entries: Entry[]) => pastOf(stored(...entries), "assignment", begins("node-1"))?.history.map(words);
  expect(shown(...once)).toEqual(["S1", "n1", "assistant", "n2", "assistant"]);
  expect(shown(...twice)).toEqual(["S2", "assistant", "n2", "assistant", "n3"]);
});

test("turns that wrote things down are turns, and told apart; a flush under way stands in the history", () => {
  const open = [task("One", "node-1", 1), reply, news("n1", 7), flush, reply, noted("written")];
  const { history, ...rest } = pastOf(stored(...open), "assignment", begins("node-1")) ?? { history: [] };
  expect(rest).toEqual({ system: "", turn: 3, tried: 0, flushTurns: 1, cursor: 7 });
  expect(history.map(words)).toEqual(["One", "assistant", "n1", "Write it down.", "assistant", "written"]);
  expect([openFlush(history), openFlush([...history, news("A new goal.")]), openFlush([reply])]).toEqual([3, -1, -1]);
});

test("what never began has no past", () => {
  expect(pastOf(two, "assignment", begins("node-3"))).toBe(undefined);
});

function stored(...entries: Entry[]): StoredEntry[] {
  return entries.map((entry, at) => ({ ...entry, seq: at + 1, ts: 0 }));
}

function words(entry: Entry): string {
  return entry.role === "assistant" ? "assistant" : entry.content;
}
