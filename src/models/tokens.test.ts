import { expect, test } from "vitest";
import { type Entry, NO_USAGE, type ReplyEntry } from "../protocol/index.ts";
import { contextTokens, estimateTokens, toolTokens } from "./tokens.ts";

const words = (bytes: number): Entry => ({ role: "user", from: "human", content: "x".repeat(bytes) });
const uncounted: ReplyEntry = {
  role: "assistant",
  content: [],
  model: "p/m",
  usage: NO_USAGE,
  cost_usd: 0,
  finish: "stop",
};
const counted: ReplyEntry = { ...uncounted, usage: { ...NO_USAGE, input: 1_000, output: 100 } };

test("the provider's count, plus a quarter of the bytes that came since", () => {
  expect(contextTokens([words(4_000), counted, words(400)], 50)).toBe(1_200);
});

test("without a count everything is measured, with the prompt and the tools", () => {
  expect(contextTokens([words(4_000), words(400)], 50)).toBe(1_150);
  expect(contextTokens([words(4_000), uncounted, words(400)], 50)).toBe(1_151);
});

test("a count from before a summary says nothing about what came after it, also where the reply was kept", () => {
  const summary: Entry = { role: "summary", content: "x".repeat(400), kept: 2 };
  expect(contextTokens([summary], 50)).toBe(150);
  expect(contextTokens([summary, counted, words(400)], 50)).toBe(251);
  expect(contextTokens([summary, words(400), counted, uncounted, counted, words(400)], 50)).toBe(1_200);
});

test("tools take what their names, words and schemas take in a request, also where two share a schema", () => {
  const parameters = { type: "object" };
  const tools = [
    { name: "look", description: "Looks.", parameters },
    { name: "listen", description: "Listens, and says what it heard.", parameters },
  ];
  const sent = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  expect([toolTokens(tools), toolTokens(tools), toolTokens([])]).toEqual([
    estimateTokens(JSON.stringify(sent)),
    estimateTokens(JSON.stringify(sent)),
    estimateTokens("[]"),
  ]);
});
