import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import { anthropicQuirks, openrouterQuirks } from "./provider-quirks.ts";
import { parseArguments, ReplyReader } from "./reply-reader.ts";

test("a part carries all the metadata that came with its start, its deltas and its end", () => {
  const { content } = read([
    { type: "reasoning-start", id: "r", providerMetadata: { p: { itemId: "1", secret: null } } },
    { type: "text-start", id: "t" },
    { type: "reasoning-delta", id: "r", delta: "hm" },
    { type: "text-delta", id: "t", delta: "so" },
    { type: "reasoning-delta", id: "r", delta: "", providerMetadata: { p: { signature: "2" } } },
    { type: "reasoning-end", id: "r", providerMetadata: { p: { secret: "3" }, q: { also: "4" } } },
  ]);

  expect(content).toEqual([
    { type: "reasoning", text: "hm", meta: { p: { itemId: "1", secret: "3", signature: "2" }, q: { also: "4" } } },
    { type: "text", text: "so" },
  ]);
});

test("an id may be used again once its part has ended", () => {
  const text = (delta: string): LanguageModelV4StreamPart[] => [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta },
    { type: "text-end", id: "0" },
  ];

  expect(read([...text("one"), ...text("two")]).content).toEqual([
    { type: "text", text: "one" },
    { type: "text", text: "two" },
  ]);
});

test("files are kept in a form that survives JSON", () => {
  const { content } = read([
    { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([1, 2, 3]) } },
  ]);

  expect(content).toEqual([
    { type: "native", part: { type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" } } },
  ]);
});

test("what is undocumented is passed over with a warning; an error ends the reply", () => {
  const undocumented = Object.assign(new Error("Type validation failed\nlong"), { name: "AI_TypeValidationError" });
  const cut = Object.assign(new Error("no finish"), { name: "AI_InvalidResponseDataError", data: undefined });
  const warnings: string[] = [];

  const passed = read([{ type: "error", error: undocumented }], (warning) => warnings.push(warning));
  const ended = read([
    { type: "error", error: cut },
    { type: "error", error: "later" },
  ]);

  expect({ passed: passed.error, skipped: passed.skipped, warnings, ended: ended.error }).toEqual({
    passed: undefined,
    skipped: 1,
    warnings: ["Something undocumented in the reply was passed over: Type validation failed"],
    ended: { cause: cut, cut: true },
  });
});

test("every warning of the provider is told", () => {
  const warnings: string[] = [];
  const told: Extract<LanguageModelV4StreamPart, { type: "stream-start" }>["warnings"] = [
    { type: "unsupported", feature: "search beside functions" },
    { type: "compatibility", feature: "thinking", details: "lowered" },
    { type: "deprecated", setting: "old", message: "use new" },
    { type: "other", message: "something" },
  ];
  read([{ type: "stream-start", warnings: told }], (warning) => warnings.push(warning));

  expect(warnings).toEqual([
    "unsupported: search beside functions",
    "compatibility: thinking (lowered)",
    "deprecated: old (use new)",
    "something",
  ]);
});

test.each([
  ["", {}],
  ['{"a":1}', { a: 1 }],
  ['"{\\"a\\":1}"', { a: 1 }],
  ['{"a":', '{"a":'],
  ["[1]", [1]],
])("arguments %s are read as %o", (text, args) => {
  expect(parseArguments(text)).toEqual(args);
});

test("arguments that an SDK hides are read from the wire, and calls stand in the model's order", () => {
  const raw = (tool_calls: object[]): LanguageModelV4StreamPart => ({
    type: "raw",
    rawValue: { choices: [{ delta: { tool_calls } }] },
  });
  const reader = new ReplyReader(openrouterQuirks, {});
  for (const part of [
    raw([{ index: 0, id: "a", function: { name: "one", arguments: "oo" } }]),
    raw([{ index: 0, function: { arguments: "ps" } }]),
    raw([{ index: 1, id: "b", function: { name: "two", arguments: "{}" } }]),
    { type: "tool-call", toolCallId: "b", toolName: "two", input: "{}" },
    { type: "tool-call", toolCallId: "a", toolName: "one", input: "{}" },
    finish,
  ] satisfies LanguageModelV4StreamPart[]) {
    reader.take(part);
  }

  expect(reader.content).toEqual([
    { type: "call", id: "a", name: "one", args: "oops" },
    { type: "call", id: "b", name: "two", args: {} },
  ]);
});

const finish: LanguageModelV4StreamPart = {
  type: "finish",
  finishReason: { unified: "tool-calls", raw: "tool_calls" },
  usage: {
    inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: undefined, reasoning: undefined },
  },
};

function read(parts: LanguageModelV4StreamPart[], onWarning?: (warning: string) => void) {
  const reader = new ReplyReader(anthropicQuirks, onWarning ? { onWarning } : {});
  for (const part of parts) reader.take(part);
  return reader;
}
