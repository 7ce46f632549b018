import { expect, test } from "vitest";
import { ChatReader } from "./chat-reader.ts";

test("a stream of chunks is words as they come, then the calls in the model's order, then why it stopped and what it took", () => {
  const parts = read(
    delta({ reasoning: "Hm." }),
    delta({ reasoning_content: " Yes." }),
    delta({ content: [{ text: "Look" }, { image: 1 }, { text: "ing" }] }),
    delta({ refusal: "No." }),
    delta({ tool_calls: [{ index: 1, id: "b", function: { name: "two", arguments: { x: 1 } } }] }),
    delta({ tool_calls: [{ index: 0, id: "a", function: { name: "one", arguments: '{"y":' } }] }),
    delta({ tool_calls: [{ index: 0, function: { arguments: "2}" }, extra_content: { sig: "s" } }] }),
    {
      error: null,
      choices: [{ delta: {}, finish_reason: "tool_calls" }],
      usage: {
        prompt_tokens: 10,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    },
    { choices: [], usage: null },
  );
  expect(parts).toEqual([
    { type: "reasoning-delta", id: "0", delta: "Hm." },
    { type: "reasoning-delta", id: "0", delta: " Yes." },
    { type: "text-delta", id: "0", delta: "Looking" },
    { type: "text-delta", id: "0", delta: "No." },
    { type: "tool-input-delta", id: "b", delta: '{"x":1}' },
    { type: "tool-input-delta", id: "a", delta: '{"y":' },
    { type: "tool-input-delta", id: "a", delta: "2}" },
    {
      type: "tool-call",
      toolCallId: "a",
      toolName: "one",
      input: '{"y":2}',
      providerMetadata: { local: { extra_content: { sig: "s" } } },
    },
    { type: "tool-call", toolCallId: "b", toolName: "two", input: '{"x":1}' },
    {
      type: "finish",
      finishReason: { unified: "tool-calls", raw: "tool_calls" },
      usage: usageOf({ input: 10, cached: 4, output: 5, reasoning: 2 }),
    },
  ]);
});

test.each<[string, object[], [string, string, string][]]>([
  [
    "no index: a new id is a new call",
    [
      { id: "a", function: { name: "one", arguments: "{" } },
      { id: "a", function: { arguments: "}" } },
      { id: "b", function: { name: "one", arguments: "{}" } },
    ],
    [
      ["a", "one", "{}"],
      ["b", "one", "{}"],
    ],
  ],
  [
    "no index and no id: a new name is a new call",
    [
      { function: { name: "one", arguments: "{" } },
      { function: { arguments: "}" } },
      { function: { name: "two", arguments: "{}" } },
    ],
    [
      ["call_0", "one", "{}"],
      ["call_1", "two", "{}"],
    ],
  ],
  [
    "the id and the name come late",
    [
      { index: 0, function: { arguments: "{" } },
      { index: 0, id: "a", function: { name: "one", arguments: "}" } },
    ],
    [["a", "one", "{}"]],
  ],
  [
    "no index, and the name comes late",
    [{ function: { arguments: "{" } }, { function: { name: "one", arguments: "}" } }],
    [["call_0", "one", "{}"]],
  ],
  [
    "the id comes again with every piece, and an index is left out of the count",
    [
      { index: 2, id: "a", function: { name: "one", arguments: "{" } },
      { index: 2, id: "a", function: { name: "one", arguments: "}" } },
    ],
    [["a", "one", "{}"]],
  ],
  ["what is no call at all", [{ index: "x", id: 7, function: "one" }], [["call_0", "", ""]]],
])("servers differ in how they send a call: %s", (_, pieces, calls) => {
  const chunks = pieces.map((piece) => delta({ tool_calls: [piece] }));
  const parts = read(...chunks, { choices: [{ finish_reason: "tool_calls" }] });
  expect(
    parts.flatMap((part) => (part.type === "tool-call" ? [[part.toolCallId, part.toolName, part.input]] : [])),
  ).toEqual(calls);
});

test("a reply that was cut off makes no calls, whole as they may look", () => {
  const call = { index: 0, id: "a", function: { name: "one", arguments: "{}" } };
  expect(read(delta({ tool_calls: [call] })).at(-1)).toEqual({
    type: "finish",
    finishReason: { unified: "interrupted", raw: undefined },
    usage: usageOf({}),
  });
  expect(read(delta({ tool_calls: [call] })).filter((part) => part.type === "tool-call")).toEqual([]);
});

test("an error in the stream is one, and so is what is not JSON; usage in another shape is left out", () => {
  const reader = new ChatReader("local");
  const [error] = reader.event('{"error":{"message":"overloaded"}}');
  const [garbled] = reader.event("<html>");
  expect([error, reader.event("[DONE]")]).toEqual([{ type: "error", error: { message: "overloaded" } }, []]);
  expect(garbled).toMatchObject({
    type: "error",
    error: { name: "AI_JSONParseError", message: "a line of the stream is not JSON: <html>" },
  });
  const usage = { prompt_tokens: "ten", completion_tokens: null, prompt_cache_hit_tokens: 3 };
  expect(read({ choices: [{ finish_reason: "odd" }], usage })).toEqual([
    { type: "finish", finishReason: { unified: "other", raw: "odd" }, usage: usageOf({ cached: 3 }) },
  ]);
});

function delta(said: object): object {
  return { choices: [{ delta: said }] };
}

function read(...chunks: object[]) {
  const reader = new ChatReader("local");
  return [...chunks.flatMap((chunk) => reader.event(JSON.stringify(chunk))), ...reader.end()];
}

function usageOf({ input, cached, output, reasoning }: Record<string, number>) {
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead: cached, cacheWrite: undefined },
    outputTokens: { total: output, text: undefined, reasoning },
  };
}
