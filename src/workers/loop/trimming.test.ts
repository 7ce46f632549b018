import { expect, test } from "vitest";
import { entryTokens } from "../../models/tokens.ts";
import { type Entry, NO_USAGE } from "../../protocol/index.ts";
import { tailWithin, trimmed } from "./trimming.ts";

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
