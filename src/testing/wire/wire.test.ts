import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import { describe, expect, test } from "vitest";
import { type ProviderServerOptions, startProviderServer } from "../provider-server.ts";
import type { ProviderTurn } from "../provider-turn.ts";
import { routeOf } from "./provider-route.ts";
import { replyFor } from "./reply.ts";

/** The vendors' own clients are the judges: what they read from us is what they would read from the vendor. */
const clients: Record<string, (url: string) => LanguageModelV4> = {
  anthropic: (url) => createAnthropic({ baseURL: `${url}/v1`, apiKey: "k" })("claude-sonnet-4-5"),
  "openai responses": (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey: "k" })("gpt-5"),
  "openai chat": (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey: "k" }).chat("gpt-4.1"),
  google: (url) => createGoogle({ baseURL: `${url}/v1beta`, apiKey: "k" })("gemini-3-pro-preview"),
  openrouter: (url) => createOpenRouter({ baseURL: `${url}/openrouter/api/v1`, apiKey: "k" })("some/model"),
  ollama: (url) => createOpenAICompatible({ name: "ollama", baseURL: `${url}/ollama/v1`, includeUsage: true })("llama"),
};

const turn: ProviderTurn = {
  text: "Grüße 🎈 — let me read both files, one after the other.",
  calls: [
    { name: "read_file", args: { path: "a.md" } },
    { name: "read_file", args: { path: "größe.md", lines: [1, 2] } },
  ],
  usage: { input: 100, output: 20, cache_read: 30 },
};

const question: LanguageModelV4CallOptions = {
  prompt: [
    { role: "system", content: "You read files." },
    { role: "user", content: [{ type: "text", text: "What do they say?" }] },
  ],
  tools: [
    {
      type: "function",
      name: "read_file",
      description: "Reads a file.",
      inputSchema: { type: "object", properties: { path: { type: "string" } } },
    },
  ],
};

describe.each(Object.entries(clients))("%s", (_, client) => {
  test("its client reads words, calls, usage and finish from a stream, without a warning", async () => {
    const { parts } = await ask(client, { turns: [turn] });
    expect(reading(parts)).toEqual({
      text: turn.text,
      calls: [
        ["read_file", { path: "a.md" }],
        ["read_file", { path: "größe.md", lines: [1, 2] }],
      ],
      finish: "tool-calls",
      tokens: [100, 20, 30],
      trouble: [],
    });
  });

  test("its client reads the same when the bytes arrive in pieces of seven", async () => {
    const [whole, shredded] = await Promise.all([
      ask(client, { turns: [turn] }),
      ask(client, { turns: [{ ...turn, fault: { shredded: true } }] }),
    ]);
    expect(reading(shredded.parts)).toEqual(reading(whole.parts));
  });

  test("its client reads the same without a stream", async () => {
    await using server = await startProviderServer({ turns: [turn] });
    const { content, warnings, finishReason } = await client(server.url).doGenerate(question);
    const calls = content.filter((part) => part.type === "tool-call");
    expect({
      text: content.map((part) => (part.type === "text" ? part.text : "")).join(""),
      calls: calls.map((call) => [call.toolName, JSON.parse(call.input)]),
      finish: finishReason.unified,
      warnings,
    }).toEqual({
      text: turn.text,
      calls: [
        ["read_file", { path: "a.md" }],
        ["read_file", { path: "größe.md", lines: [1, 2] }],
      ],
      finish: "tool-calls",
      warnings: [],
    });
    server.assertDone();
  });

  test("what its client sends back is read as one conversation", async () => {
    await using server = await startProviderServer({
      respond: ({ turn }) => (turn === 0 ? { text: "no" } : { text: "Done." }),
    });
    const answered: LanguageModelV4CallOptions = {
      ...question,
      prompt: [
        ...question.prompt,
        {
          role: "assistant",
          content: [
            { type: "text", text: "Reading." },
            { type: "tool-call", toolCallId: "call_1", toolName: "read_file", input: { path: "a.md" } },
          ],
        },
        {
          role: "tool",
          content: [
            {
              type: "tool-result",
              toolCallId: "call_1",
              toolName: "read_file",
              output: { type: "text", value: "It says hello." },
            },
          ],
        },
        { role: "user", content: [{ type: "text", text: "Hurry." }] },
      ],
    };
    const { stream } = await client(server.url).doStream(answered);
    await collected(stream);

    const [request] = server.requests;
    expect({
      system: request?.system,
      tools: request?.tools,
      messages: request?.messages,
      turn: request?.turn,
    }).toEqual({
      system: "You read files.",
      tools: ["read_file"],
      messages: [
        { role: "user", text: "What do they say?" },
        { role: "assistant", text: "Reading.", calls: [{ id: "call_1", name: "read_file", args: { path: "a.md" } }] },
        { role: "tool", call_id: "call_1", text: "It says hello." },
        { role: "user", text: "Hurry." },
      ],
      turn: 1,
    });
  });

  test("an unknown block is something its client passes over", async () => {
    const { parts } = await ask(client, { turns: [{ ...turn, unknownBlock: true }] });
    const { text, calls, finish } = reading(parts);
    expect({ text, calls: calls.length, finish }).toEqual({ text: turn.text, calls: 2, finish: "tool-calls" });
  });
});

test.each([
  ["/v1/messages", /message_delta|message_stop/],
  ["/v1/responses", /response\.completed/],
  ["/v1/chat/completions", /"finish_reason":"|\[DONE\]/],
  ["/openrouter/api/v1/chat/completions", /"finish_reason":"|\[DONE\]/],
  ["/v1beta/models/gemini-3-pro:streamGenerateContent", /finishReason/],
])("%s: all that is said and called comes before the vendor's first word of an ending", (path, finish) => {
  const { frames, ending } = routeOf(path)?.wire.stream(replyFor(turn, { ...nobody, model: "m" }, 1, 0)) ?? {
    frames: [],
    ending: 0,
  };
  const [content, end] = [frames.slice(0, ending).join(""), frames.slice(ending).join("")];
  expect([finish.test(content), finish.test(end), content.includes("read_file"), end.includes("read_file")]).toEqual([
    false,
    true,
    true,
    path === "/v1/responses",
  ]);
});

describe("what a vendor wants handed back", () => {
  const thinking = { text: "Which file first?", signature: "sealed-by-the-vendor" };

  test.each([
    ["anthropic", { anthropic: { signature: "sealed-by-the-vendor" } }],
    ["openai responses", { openai: { itemId: "rs_scripted1", reasoningEncryptedContent: "sealed-by-the-vendor" } }],
  ])("%s: the seal of its thoughts", async (name, sealed) => {
    const { parts } = await ask(clients[name], { turns: [{ thinking, text: "Hm." }] });
    const metadata = parts.flatMap((part) =>
      part.type === "reasoning-delta" || part.type === "reasoning-end" ? [part.providerMetadata ?? {}] : [],
    );
    expect(metadata).toContainEqual(sealed);
  });

  test("google: the seal stands on the first call", async () => {
    const { parts } = await ask(clients.google, { turns: [{ ...turn, thinking }] });
    const sealed = parts.flatMap((part) => (part.type === "tool-call" ? [part.providerMetadata] : []));
    expect(sealed).toEqual([{ google: { thoughtSignature: "sealed-by-the-vendor" } }, undefined]);
  });

  test("anthropic: thoughts that it does not show", async () => {
    const { parts } = await ask(clients.anthropic, {
      turns: [{ thinking: { ...thinking, redacted: true }, text: "Hm." }],
    });
    expect(parts.filter((part) => part.type === "reasoning-start")).toEqual([
      { type: "reasoning-start", id: "0", providerMetadata: { anthropic: { redactedData: "sealed-by-the-vendor" } } },
    ]);
  });

  test("anthropic: its own search, with sealed results", async () => {
    const { parts } = await ask(clients.anthropic, { turns: [searching] });
    expect(parts.filter((part) => part.type === "tool-call" || part.type === "tool-result")).toEqual([
      {
        type: "tool-call",
        toolCallId: "srvtoolu_scripted1",
        toolName: "web_search",
        input: '{"query":"chip speeds"}',
        providerExecuted: true,
      },
      {
        type: "tool-result",
        toolCallId: "srvtoolu_scripted1",
        toolName: "web_search",
        result: [
          {
            type: "web_search_result",
            url: "https://chips.example/a",
            title: "Chip A",
            pageAge: null,
            encryptedContent: "sealed-page",
          },
        ],
      },
    ]);
  });

  test("openai: its own search, with its sources", async () => {
    const { parts } = await ask(clients["openai responses"], { turns: [searching] });
    expect(parts.filter((part) => part.type === "tool-result")).toEqual([
      {
        type: "tool-result",
        toolCallId: "ws_scripted1",
        toolName: "web_search",
        result: {
          action: { type: "search", query: "chip speeds" },
          sources: [{ type: "url", url: "https://chips.example/a" }],
        },
      },
    ]);
  });

  test("google: its own search, as grounding", async () => {
    const { parts } = await ask(clients.google, { turns: [searching] });
    expect(
      parts.flatMap((part) => (part.type === "source" && part.sourceType === "url" ? [[part.url, part.title]] : [])),
    ).toEqual([["https://chips.example/a", "Chip A"]]);
  });

  const searching: ProviderTurn = {
    search: {
      query: "chip speeds",
      results: [{ url: "https://chips.example/a", title: "Chip A", encrypted: "sealed-page" }],
    },
    text: "A is fast.",
  };
});

const nobody = { system: "", messages: [], tools: [] };

async function collected<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const part of stream) all.push(part);
  return all;
}

async function ask(client: ((url: string) => LanguageModelV4) | undefined, options: ProviderServerOptions) {
  if (!client) throw new Error("There is no such client in this test.");
  await using server = await startProviderServer(options);
  const { stream } = await client(server.url).doStream(question);
  const parts = await collected(stream);
  server.assertDone();
  return { parts, requests: server.requests };
}

function reading(parts: LanguageModelV4StreamPart[]) {
  const calls = parts.filter((part) => part.type === "tool-call");
  const finish = parts.find((part) => part.type === "finish");
  return {
    text: parts.map((part) => (part.type === "text-delta" ? part.delta : "")).join(""),
    calls: calls.map((call) => [call.toolName, JSON.parse(call.input)]),
    finish: finish?.finishReason.unified,
    tokens: [finish?.usage.inputTokens.total, finish?.usage.outputTokens.total, finish?.usage.inputTokens.cacheRead],
    trouble: parts.flatMap((part) =>
      part.type === "error" ? [part.error] : part.type === "stream-start" ? part.warnings : [],
    ),
  };
}
