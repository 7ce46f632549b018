import fc from "fast-check";
import { expect, test } from "vitest";
import type { CallPart, Entry, ReplyEntry } from "../../protocol/index.ts";
import { HistoryBug, PromptWriter } from "./prompt-writer.ts";
import { anthropicQuirks, compatibleQuirks, googleQuirks } from "./provider-quirks.ts";

const writer = new PromptWriter("local", compatibleQuirks("local"));

test("words in a row become one message, and so do the results of one reply", () => {
  const history = [
    user("one"),
    { role: "summary", content: "before" } as const,
    reply("local/m", [call("a"), call("b")]),
    result("b", "B"),
    result("a", "A"),
    user("two"),
    user("three"),
  ];

  expect(writer.write("system", history)).toEqual([
    { role: "system", content: "system" },
    { role: "user", content: [{ type: "text", text: "one\n\n[Summary of the conversation so far]\n\nbefore" }] },
    {
      role: "assistant",
      content: [
        { type: "tool-call", toolCallId: "a", toolName: "look", input: "{}" },
        { type: "tool-call", toolCallId: "b", toolName: "look", input: "{}" },
      ],
    },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "b", toolName: "look", output: { type: "text", value: "B" } },
        { type: "tool-result", toolCallId: "a", toolName: "look", output: { type: "text", value: "A" } },
      ],
    },
    { role: "user", content: [{ type: "text", text: "two\n\nthree" }] },
  ]);
});

test("a message is made once, however often its history is sent", () => {
  const history = [user("one"), reply("local/m", [call("a")]), result("a", "A"), user("two")];
  const before = writer.write("s", history);
  const after = writer.write("s", [...history, reply("local/m", [{ type: "text", text: "ok" }])]);

  expect(after.slice(1, 5).map((message, at) => message === before[at + 1])).toEqual([true, true, true, true]);
});

test("a message that words were added to is made anew", () => {
  const one = user("one");
  writer.write("", [one]);

  expect(writer.write("", [one, user("two")])).toEqual([
    { role: "user", content: [{ type: "text", text: "one\n\ntwo" }] },
  ]);
});

test("a message is not taken for another that ends with the same words", () => {
  const last = user("last");
  writer.write("", [user("one"), last]);

  expect(writer.write("", [user("two"), last])).toEqual([
    { role: "user", content: [{ type: "text", text: "two\n\nlast" }] },
  ]);
});

test("whatever is added to a history or taken from it, it is written as by one who never saw it before", () => {
  const step = fc.constantFrom<Entry[]>(
    [user("words")],
    [{ role: "summary", content: "before" }],
    [{ role: "system", content: "not sent" }],
    [reply("local/m", [{ type: "text", text: "ok" }])],
    [reply("local/m", [call("a")]), result("a", "A")],
  );
  const turn = fc.tuple(fc.nat(8), fc.array(step, { maxLength: 4 }));
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 8 }), (turns) => {
      const lasting = new PromptWriter("local", compatibleQuirks("local"));
      let steps: Entry[][] = [];
      for (const [kept, more] of turns) {
        steps = [...steps.slice(0, kept), ...more.map((each) => structuredClone(each))];
        const fresh = new PromptWriter("local", compatibleQuirks("local"));
        expect(lasting.write("s", steps.flat())).toEqual(fresh.write("s", steps.flat()));
      }
    }),
  );
});

test("a history that could not be written leaves nothing behind", () => {
  const asked = reply("local/m", [call("a")]);
  expect(() => writer.write("", [user("one"), asked])).toThrow(HistoryBug);

  expect(writer.write("", [user("two")])).toEqual([{ role: "user", content: [{ type: "text", text: "two" }] }]);
});

test.each([
  ["a call without a result", [reply("local/m", [call("a"), call("b")]), result("a", "A")]],
  ["a call with two results", [reply("local/m", [call("a"), call("b")]), result("a", "A"), result("a", "A")]],
  ["mail between a call and its result", [reply("local/m", [call("a")]), user("hello"), result("a", "A")]],
  ["a result without its call", [user("hello"), result("a", "A")]],
])("%s is a bug of ours and is not sent", (_, history) => {
  expect(() => writer.write("", history)).toThrow(HistoryBug);
});

test("another provider gets the words and the calls, and nothing that only their author understands", () => {
  const foreign = reply("anthropic/claude-sonnet-5", [
    { type: "reasoning", text: "hm", meta: { anthropic: { signature: "s" } } },
    { type: "native", part: { type: "tool-call", toolName: "web_search" } },
    { type: "text", text: "I look", meta: { anthropic: { citations: [] } } },
    { ...call("functions.look:0"), meta: { anthropic: { caller: {} } } },
  ]);
  const gemini = new PromptWriter("google", googleQuirks);

  expect(gemini.write("", [foreign, result("functions.look:0", "A")])).toEqual([
    {
      role: "assistant",
      content: [
        { type: "text", text: "I look" },
        {
          type: "tool-call",
          toolCallId: "functions_look_0",
          toolName: "look",
          input: {},
          providerOptions: { google: { thoughtSignature: "skip_thought_signature_validator" } },
        },
      ],
    },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "functions_look_0", toolName: "look", output: { type: "text", value: "A" } },
      ],
    },
  ]);
});

test("what would make a request unsendable for ever is made sendable", () => {
  const history = [
    user(""),
    reply("anthropic/m", [{ type: "call", id: "a", name: "no such/name", args: "{oops" }]),
    result("a", "half a pair \ud800"),
    reply("anthropic/m", []),
  ];

  expect(new PromptWriter("anthropic", { ...anthropicQuirks, cacheMark: null }).write("", history)).toEqual([
    { role: "user", content: [{ type: "text", text: "(empty)" }] },
    {
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: "a", toolName: "no_such_name", input: { invalid_json: "{oops" } }],
    },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "a",
          toolName: "look",
          output: { type: "text", value: "half a pair \ufffd" },
        },
      ],
    },
    { role: "assistant", content: [{ type: "text", text: "(no words)" }] },
  ]);
});

test("PROMPT-5: half a character in what a model said is replaced, in its words, its thoughts and the arguments of its calls", () => {
  const half = "half \ud83d";
  const args = { path: half, [half]: [{ deep: half }], whole: "😀 \\ud83d" };
  const history = [
    reply("local/m", [
      { type: "reasoning", text: half },
      { type: "text", text: half },
      { type: "call", id: "a", name: "look", args },
      { type: "call", id: "b", name: "look", args: half },
    ]),
    result("a", "A"),
    result("b", "B"),
  ];
  const whole = "half \ufffd";
  const repaired = { path: whole, [whole]: [{ deep: whole }], whole: "😀 \\ud83d" };
  const said = [
    { type: "reasoning", text: whole },
    { type: "text", text: whole },
  ];
  const [asJson] = writer.write("", history);
  const [asObject] = new PromptWriter("local", googleQuirks).write("", history);
  expect(asJson?.content).toEqual([
    ...said,
    { type: "tool-call", toolCallId: "a", toolName: "look", input: JSON.stringify(repaired) },
    { type: "tool-call", toolCallId: "b", toolName: "look", input: JSON.stringify({ invalid_json: whole }) },
  ]);
  expect(asObject?.content).toEqual([
    ...said,
    { type: "tool-call", toolCallId: "a", toolName: "look", input: repaired },
    { type: "tool-call", toolCallId: "b", toolName: "look", input: { invalid_json: whole } },
  ]);
});

test("the cache is marked after the system prompt, where the last request ended, and at the end", () => {
  const history = [
    user("one"),
    reply("anthropic/m", [call("a")]),
    result("a", "A"),
    reply("anthropic/m", [call("b"), call("c")]),
    result("b", "B"),
    result("c", "C"),
  ];
  const mark = { anthropic: { cacheControl: { type: "ephemeral" } } };

  const prompt = new PromptWriter("anthropic", anthropicQuirks).write("s", history);

  const marks = prompt.map((message) => [
    message.providerOptions,
    ...(typeof message.content === "string"
      ? []
      : message.content.map((part) => "providerOptions" in part && part.providerOptions)),
  ]);
  expect(marks).toEqual([
    [mark],
    [undefined, false],
    [undefined, false],
    [undefined, mark],
    [undefined, false, false],
    [undefined, false, mark],
  ]);
});

function user(content: string): Entry {
  return { role: "user", from: "human", content };
}

function call(id: string): CallPart {
  return { type: "call", id, name: "look", args: {} };
}

function reply(model: string, content: ReplyEntry["content"]): ReplyEntry {
  const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 };
  return { role: "assistant", content, model, usage, cost_usd: 0, finish: "stop" };
}

function result(call_id: string, content: string): Entry {
  return { role: "tool", call_id, tool: "look", content, ok: true };
}
