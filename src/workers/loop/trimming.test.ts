import { expect, test } from "vitest";
import { entryTokens } from "../../models/tokens.ts";
import { type Entry, NO_USAGE } from "../../protocol/index.ts";
import { tailWithin, trimmed, withShortPast } from "./trimming.ts";

const words = (content: string): Entry => ({ role: "user", from: "human", content });
const calling = (text: string): Entry => ({
  role: "assistant",
  content: [{ type: "call", id: "c", name: "write", args: { text, times: 3 } }],
  model: "m",
  usage: NO_USAGE,
  cost_usd: 0,
  finish: "tool-calls",
});
const result = (content: string): Entry => ({ role: "tool", call_id: "c", tool: "write", ok: true, content });
const long = "x".repeat(4_000);

test("the ending that fits never begins between a call and its result", () => {
  const history = [words("a"), calling(long), result("r"), words("b"), calling("short"), result("r"), result("r")];
  expect(tailWithin(history, 100, 9)).toBe(3);
  expect(tailWithin(history.slice(0, 3), 100, 9)).toBe(3);
  expect(tailWithin(history, 10_000, 9)).toBe(0);
});

test("the ending that fits holds no more turns than asked for, and no summary", () => {
  const turn = [calling("s"), result("r")];
  expect(tailWithin([...turn, ...turn, ...turn], 10_000, 2)).toBe(2);
  expect(tailWithin([{ role: "summary", content: "S" }, ...turn], 10_000, 9)).toBe(1);
});

test("results are cut first, the oldest first, then calls, then words, and only then whole turns", () => {
  const history = [words(long), calling(long), result(long), calling("short"), result(long), words("Write it down.")];
  const cutAt = (tokens: number) =>
    trimmed(history, tokens).map((entry) => (JSON.stringify(entry).includes("left out here") ? "cut" : "whole"));
  expect(cutAt(5_000)).toEqual(["whole", "whole", "whole", "whole", "whole", "whole"]);
  expect(cutAt(3_500)).toEqual(["whole", "whole", "cut", "whole", "whole", "whole"]);
  expect(cutAt(2_500)).toEqual(["whole", "whole", "cut", "whole", "cut", "whole"]);
  expect(cutAt(1_500)).toEqual(["whole", "cut", "cut", "whole", "cut", "whole"]);
  expect(cutAt(900)).toEqual(["cut", "cut", "cut", "whole", "cut", "whole"]);
  expect(trimmed(history, 200).map(({ role }) => role)).toEqual(["assistant", "tool", "user"]);
  expect(entryTokens(trimmed(history, 200))).toBeLessThanOrEqual(200);
});

test("of earlier runs, what the prompt has word for word is not repeated; the run itself stays as it is", () => {
  const note = "## Reports\n\nWhole euros with a thousands separator; the best region first.";
  const begins = (run_id: "run-1" | "run-2"): Entry => ({ role: "user", from: "human", content: note, run_id });
  const history = [begins("run-1"), calling(` ${note}\n`), calling("reports.md"), begins("run-2"), calling(note)];
  const texts = (prompt: string) =>
    withShortPast(history, "run-2", prompt).flatMap((entry) =>
      entry.role === "assistant" ? entry.content.map((part) => part.type === "call" && part.args) : [entry.content],
    );
  const has = (text: string) => ({ text, times: 3 });
  const prompt = `# Your memory\n\n## preferences/reports.md\n\n${note}\n\n(2026-11-19, run-1)`;
  expect(texts(prompt)).toEqual([note, has("(word for word in your prompt)"), has("reports.md"), note, has(note)]);
  expect(texts(prompt.replace("best", "worst"))).toEqual([
    ...[note, has(` ${note}\n`), has("reports.md")],
    ...[note, has(note)],
  ]);
});
