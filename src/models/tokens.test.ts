import { expect, test } from "vitest";
import { type Entry, NO_USAGE, type ReplyEntry } from "../protocol/index.ts";
import { contextTokens, isNearLimit } from "./tokens.ts";

const words = (bytes: number): Entry => ({ role: "user", from: "human", content: "x".repeat(bytes) });
const reply: ReplyEntry = {
  role: "assistant",
  content: [],
  model: "p/m",
  usage: NO_USAGE,
  cost_usd: 0,
  finish: "stop",
};
const counted = { ...NO_USAGE, input: 1_000, output: 100 };

test("the provider's count, plus a quarter of the bytes that came since", () => {
  expect(contextTokens([words(4_000), reply, words(400)], counted)).toBe(1_200);
});

test("without a count everything is measured", () => {
  expect(contextTokens([words(4_000), words(400)], null)).toBe(1_100);
  expect(contextTokens([words(4_000), reply, words(400)], NO_USAGE)).toBe(1_101);
});

test("a count from before a summary says nothing about what came after it", () => {
  expect(contextTokens([{ role: "summary", content: "x".repeat(400) }], counted)).toBe(100);
});

test("near is three quarters of the window", () => {
  const history = [reply, words(400)];

  expect([1_601, 1_600].map((window) => isNearLimit(history, counted, window))).toEqual([false, true]);
});
