import { expect, test, vi } from "vitest";
import { type Entry, NO_USAGE, type ReplyEntry } from "../../protocol/index.ts";
import { postByFetch } from "../../testing/post-by-fetch.ts";
import type { ToolSpec } from "../model.ts";
import { beginAttempt, nodeTimer } from "./attempt.ts";
import { createChatWire } from "./chat-wire.ts";
import { compatibleQuirks } from "./provider-quirks.ts";

const tools: ToolSpec[] = [{ name: "look", description: "Looks.", parameters: { type: "object" } }];

test("a request is what chat completions want, with the thoughts and extras that belong to a call", async () => {
  const chat = connected("key");
  await chat.ask("You look.", turn(1), tools);

  expect(chat.sent).toEqual([
    {
      url: "http://h/v1/chat/completions",
      headers: { "content-type": "application/json", authorization: "Bearer key" },
      body: {
        model: "org/m",
        messages: [
          { role: "system", content: "You look." },
          { role: "user", content: "look 1" },
          {
            role: "assistant",
            content: null,
            reasoning_content: "hm",
            tool_calls: [
              {
                id: "c1",
                type: "function",
                function: { name: "look", arguments: '{"at":1}' },
                extra_content: { google: { thought_signature: "s" } },
              },
            ],
          },
          { role: "tool", tool_call_id: "c1", content: "seen" },
        ],
        tools: [
          { type: "function", function: { name: "look", description: "Looks.", parameters: { type: "object" } } },
        ],
        stream: true,
        stream_options: { include_usage: true },
      },
    },
  ]);
});

test("without a key and without tools neither is sent", async () => {
  const chat = connected("");
  await chat.ask("", [{ role: "user", from: "human", content: "hi" }], []);

  expect(chat.sent[0]).toMatchObject({ headers: { "content-type": "application/json" } });
  expect(Object.keys(chat.sent[0]?.body ?? {})).toEqual(["model", "messages", "stream", "stream_options"]);
  expect(chat.sent[0]?.headers).not.toHaveProperty("authorization");
});

test("what was sent before is not serialised again", async () => {
  const chat = connected("");
  const long = Array.from({ length: 50 }, (_, at) => turn(at)).flat();
  await chat.ask("s", long, tools);
  const stringify = vi.spyOn(JSON, "stringify");
  await chat.ask("s", long, tools);
  const again = stringify.mock.calls.length;
  stringify.mockRestore();

  expect(again).toBe(0);
});

function connected(apiKey: string) {
  const sent: { url: string; headers: unknown; body: Record<string, unknown> }[] = [];
  const fetch: typeof globalThis.fetch = async (url, init) => {
    sent.push({ url: String(url), headers: init?.headers, body: JSON.parse(String(init?.body)) });
    return new Response("");
  };
  const wire = createChatWire("local", "org/m", compatibleQuirks("local"), {
    baseURL: "http://h/v1",
    apiKey,
    post: postByFetch(fetch),
  });
  async function ask(system: string, history: readonly Entry[], tools: readonly ToolSpec[]): Promise<void> {
    const limits = { stallMs: 60_000, maxBytes: 1e6, startTimer: nodeTimer };
    const attempt = beginAttempt(new AbortController().signal, limits);
    await wire.ask({ system, history, tools }, [], attempt, () => true);
    attempt.close();
  }
  return { sent, ask };
}

function turn(at: number): Entry[] {
  const reply: ReplyEntry = {
    role: "assistant",
    content: [
      { type: "reasoning", text: "hm" },
      {
        type: "call",
        id: `c${at}`,
        name: "look",
        args: { at },
        meta: { local: { extra_content: { google: { thought_signature: "s" } } } },
      },
    ],
    model: "local/org/m",
    usage: NO_USAGE,
    cost_usd: 0,
    finish: "tool-calls",
  };
  return [
    { role: "user", from: "human", content: `look ${at}` },
    reply,
    { role: "tool", call_id: `c${at}`, tool: "look", content: "seen", ok: true },
  ];
}
