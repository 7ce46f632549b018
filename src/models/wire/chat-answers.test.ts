import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import { type Entry, NO_USAGE } from "../../protocol/index.ts";
import { type Attempt, beginAttempt } from "./attempt.ts";
import { createChatWire } from "./chat-wire.ts";
import type { PostResponse } from "./post.ts";
import { compatibleQuirks } from "./provider-quirks.ts";

const json = { "content-type": "application/json" };
const hello = `data: {"choices":[{"delta":{"content":"Hello"}}]}\n\n`;
const stop = `data: {"choices":[{"finish_reason":"stop"}]}\n\n`;

test("any success is one", async () => {
  const { parts } = await ask({ status: 201, chunks: [hello, stop] });
  expect(parts.map((part) => part.type)).toEqual(["text-delta", "finish"]);
});

test.each<[string, string]>([
  ['{"error":{"message":"no such model"}}', "no such model"],
  ['{"error":"no such model"}', "no such model"],
  ['{"message":"no such model"}', "no such model"],
  ['{"detail":[]}', "Not Found"],
  ["<html>", "Not Found"],
])("a refusal says why, in the server's words or by its status: %s", async (body, message) => {
  await expect(ask({ status: 404, chunks: [body] })).rejects.toMatchObject({
    name: "AI_APICallError",
    message,
    statusCode: 404,
    responseBody: body,
  });
});

test("of a long refusal a part is enough", async () => {
  const refused = ask({ status: 500, chunks: ["x".repeat(50_000)] });
  await expect(refused).rejects.toMatchObject({ responseBody: "x".repeat(20_000) });
});

test("the head counts as a sign of life, and so does every chunk, whatever the answer is", async () => {
  const streamed = await ask({ chunks: [hello, stop] });
  const whole = await ask({ headers: json, chunks: ['{"choices":', "[]}"] });
  expect([streamed.refreshed, whole.refreshed]).toEqual([3, 3]);
});

test.each([
  ["streamed", {}, 200],
  ["whole", json, 200],
  ["a refusal", {}, 500],
])("an answer that does not end is not read to its end: %s", async (_, headers, status) => {
  const asked = await ask({ status, headers, chunks: Array(100).fill(": ping pong\n\n"), maxBytes: 50 }).catch(
    (error: { asked: Asked }) => error.asked,
  );
  expect([asked?.attempt.broken, asked?.chunks]).toEqual(["flooded", 4]);
});

test("when nothing more is wanted, nothing more is read or handed over", async () => {
  const { parts, chunks } = await ask({ chunks: [hello, hello, stop], wanted: () => false });
  expect([parts.map((part) => part.type), chunks]).toEqual([["text-delta"], 1]);
});

test("a stream that was stopped does not end as if it were whole", async () => {
  const flooding = (attempt: Attempt) => {
    attempt.heard(1e9);
    return true;
  };
  const { parts } = await ask({ chunks: [hello, stop], wanted: flooding });
  expect(parts.map((part) => part.type)).toEqual(["text-delta"]);
});

test("every call has its result on the wire, also the failed one", async () => {
  const history: Entry[] = [
    {
      role: "assistant",
      content: ["a", "b"].map((id) => ({ type: "call", id, name: "look", args: {} }) as const),
      model: "m",
      usage: NO_USAGE,
      cost_usd: 0,
      finish: "tool-calls",
    },
    { role: "tool", call_id: "a", tool: "look", content: "seen", ok: true },
    { role: "tool", call_id: "b", tool: "look", content: "It is dark.", ok: false },
  ];
  const { sent } = await ask({ chunks: [stop], history });
  expect(sent.messages.slice(-2)).toEqual([
    { role: "tool", tool_call_id: "a", content: "seen" },
    { role: "tool", tool_call_id: "b", content: "It is dark." },
  ]);
});

interface Plan {
  status?: number;
  headers?: Record<string, string>;
  chunks: string[];
  maxBytes?: number;
  history?: Entry[];
  wanted?: (attempt: Attempt) => boolean;
}

interface Asked {
  parts: LanguageModelV4StreamPart[];
  /** How many chunks were taken of the answer. */
  chunks: number;
  /** How often the timer was pushed back. */
  refreshed: number;
  attempt: Attempt;
  sent: { messages: unknown[] };
}

/** One request to a server that answers like this. A refusal carries what was seen of it. */
async function ask({ status = 200, headers = {}, chunks, maxBytes = 1e6, history = [], wanted }: Plan): Promise<Asked> {
  let refreshed = 0;
  const refresh = () => {
    refreshed += 1;
  };
  const startTimer = () => ({ refresh, stop: () => {} });
  const attempt = beginAttempt(new AbortController().signal, { stallMs: 1, maxBytes, startTimer });
  const asked: Asked = { parts: [], chunks: 0, refreshed: 0, attempt, sent: { messages: [] } };
  const answer: PostResponse = {
    status,
    statusText: "Not Found",
    headers,
    async read(onChunk) {
      for (const chunk of chunks) {
        asked.chunks += 1;
        if (!onChunk(Buffer.from(chunk))) return;
      }
    },
    drop() {},
  };
  const post = async (_url: string, _headers: unknown, body: readonly Uint8Array[]) => {
    asked.sent = JSON.parse(Buffer.concat(body).toString());
    return answer;
  };
  const wire = createChatWire("local", "m", compatibleQuirks("local"), { baseURL: "http://h", apiKey: "", post });
  const take = (part: LanguageModelV4StreamPart) => {
    asked.parts.push(part);
    return wanted?.(attempt) ?? true;
  };
  try {
    await wire.ask({ system: "", history, tools: [] }, [], attempt, take);
  } catch (error) {
    throw Object.assign(error as Error, { asked });
  }
  return { ...asked, refreshed };
}
