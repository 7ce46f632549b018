import { createServer } from "node:http";
import { afterEach, expect, test } from "vitest";
import type { Entry, ReplyEntry } from "../../protocol/index.ts";
import { createCatalog } from "../catalog/catalog.ts";
import type { ToolSpec } from "../model.ts";

// What a provider gave us to hand back survives our record (JSON) and reaches it again byte for byte.

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

const tools: ToolSpec[] = [
  {
    name: "read_file",
    description: "Reads a file.",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
  { name: "web_search", description: "Searches the web.", parameters: { type: "object" } },
];
const goal: Entry = { role: "user", from: "human", content: "Find out" };

test("anthropic: thinking, redacted thinking, encrypted search results and citations come back as they were", async () => {
  const citation = {
    type: "web_search_result_location",
    cited_text: "A is fast",
    url: "https://chips.example/a",
    title: null,
    encrypted_index: "EnCrYpTeD/index==",
  };
  const found = {
    type: "web_search_result",
    title: null,
    url: "https://chips.example/a",
    page_age: null,
    encrypted_content: "EnCrYpTeD/content==",
  };
  const { replies, bodies } = await twice("anthropic/claude-sonnet-4-5", "ANTHROPIC", [
    anthropic("tool_use", [
      [
        { type: "thinking", thinking: "" },
        { type: "thinking_delta", thinking: "Let me look." },
        { type: "signature_delta", signature: "SiG/1+==" },
      ],
      [{ type: "redacted_thinking", data: "ReDaCtEd==" }],
      [
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} },
        { type: "input_json_delta", partial_json: '{"query":"chip a"}' },
      ],
      [{ type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [found] }],
      [
        { type: "text", text: "" },
        { type: "text_delta", text: "A is fast." },
        { type: "citations_delta", citation },
      ],
      [
        { type: "tool_use", id: "toolu_1", name: "read_file", input: {} },
        { type: "input_json_delta", partial_json: '{"path":"a.md"}' },
      ],
    ]),
    anthropic("end_turn", [
      [
        { type: "text", text: "" },
        { type: "text_delta", text: "Done." },
      ],
    ]),
  ]);

  expect(replies[0]).toEqual({
    role: "assistant",
    model: "anthropic/claude-sonnet-4-5",
    content: [
      { type: "reasoning", text: "Let me look.", meta: { anthropic: { signature: "SiG/1+==" } } },
      { type: "reasoning", text: "", meta: { anthropic: { redactedData: "ReDaCtEd==" } } },
      {
        type: "native",
        part: {
          type: "tool-call",
          toolCallId: "srvtoolu_1",
          toolName: "web_search",
          input: { query: "chip a" },
          providerExecuted: true,
        },
      },
      {
        type: "native",
        part: {
          type: "tool-result",
          toolCallId: "srvtoolu_1",
          toolName: "web_search",
          output: {
            type: "json",
            value: [
              {
                type: "web_search_result",
                title: null,
                url: found.url,
                pageAge: null,
                encryptedContent: found.encrypted_content,
              },
            ],
          },
        },
      },
      {
        type: "native",
        part: {
          type: "source",
          sourceType: "url",
          id: expect.any(String),
          url: found.url,
          providerOptions: { anthropic: { pageAge: null } },
        },
      },
      { type: "text", text: "A is fast.", meta: { anthropic: { citations: [citation] } } },
      { type: "call", id: "toolu_1", name: "read_file", args: { path: "a.md" } },
    ],
    usage: { input: 110, output: 7, cache_read: 60, cache_write: 40, reasoning: 0 },
    cost_usd: expect.closeTo((10 * 3 + 40 * 3.75 + 60 * 0.3 + 7 * 15) / 1e6, 12),
    finish: "tool-calls",
  });
  expect(bodies[1]?.messages).toEqual([
    { role: "user", content: [{ type: "text", text: "Find out", cache_control: { type: "ephemeral" } }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Let me look.", signature: "SiG/1+==" },
        { type: "redacted_thinking", data: "ReDaCtEd==" },
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "chip a" } },
        { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [found] },
        { type: "text", text: "A is fast.", citations: [citation] },
        { type: "tool_use", id: "toolu_1", name: "read_file", input: { path: "a.md" } },
      ],
    },
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: "no such file",
          is_error: true,
          cache_control: { type: "ephemeral" },
        },
      ],
    },
  ]);
  expect(bodies[1]).toMatchObject({
    system: [{ type: "text", text: "You look things up.", cache_control: { type: "ephemeral" } }],
    tools: [{ name: "read_file" }, { type: "web_search_20250305", name: "web_search", max_uses: 5 }],
    max_tokens: 32_000,
  });
});

test("openai: encrypted reasoning and its own search come back, and nothing is left in its keeping", async () => {
  const reasoning = {
    type: "reasoning",
    id: "rs_1",
    encrypted_content: "gAAAA/enc==",
    summary: [{ type: "summary_text", text: "Look first." }],
  };
  const search = {
    type: "web_search_call",
    id: "ws_1",
    status: "completed",
    action: { type: "search", query: "chip a" },
  };
  const call = {
    type: "function_call",
    id: "fc_1",
    call_id: "call_1",
    name: "read_file",
    arguments: '{"path":"a.md"}',
    status: "completed",
  };
  const { replies, bodies } = await twice("openai/gpt-5", "OPENAI", [
    responses([
      [
        "response.output_item.added",
        { output_index: 0, item: { type: "reasoning", id: "rs_1", encrypted_content: null, summary: [] } },
      ],
      ["response.reasoning_summary_part.added", { item_id: "rs_1", output_index: 0, summary_index: 0 }],
      [
        "response.reasoning_summary_text.delta",
        { item_id: "rs_1", output_index: 0, summary_index: 0, delta: "Look first." },
      ],
      ["response.reasoning_summary_part.done", { item_id: "rs_1", output_index: 0, summary_index: 0 }],
      ["response.output_item.done", { output_index: 0, item: reasoning }],
      ["response.output_item.added", { output_index: 1, item: { ...search, status: "in_progress" } }],
      ["response.output_item.done", { output_index: 1, item: search }],
      ["response.output_item.added", { output_index: 2, item: { ...call, arguments: "", status: "in_progress" } }],
      ["response.output_item.done", { output_index: 2, item: call }],
    ]),
    responses([
      [
        "response.output_item.added",
        { output_index: 0, item: { type: "message", id: "msg_1", role: "assistant", content: [] } },
      ],
      ["response.output_text.delta", { item_id: "msg_1", output_index: 0, content_index: 0, delta: "Done." }],
      [
        "response.output_item.done",
        { output_index: 0, item: { type: "message", id: "msg_1", role: "assistant", content: [] } },
      ],
    ]),
  ]);

  expect(replies[0]?.content.map((part) => part.type)).toEqual(["reasoning", "native", "native", "call"]);
  expect(bodies[1]?.input).toEqual([
    { role: "developer", content: "You look things up." },
    { role: "user", content: [{ type: "input_text", text: "Find out" }] },
    reasoning,
    search,
    { type: "function_call", call_id: "call_1", name: "read_file", arguments: '{"path":"a.md"}' },
    { type: "function_call_output", call_id: "call_1", output: "no such file" },
  ]);
  expect(bodies[1]).toMatchObject({
    store: false,
    include: ["reasoning.encrypted_content", "web_search_call.action.sources"],
    prompt_cache_key: bodies[0]?.prompt_cache_key,
  });
  expect(bodies[0]?.prompt_cache_key).toMatch(/^[0-9a-f]{32}$/);
});

test("gemini: thought signatures come back on the words and on the calls they belong to", async () => {
  const parts = [
    { text: "Look first.", thought: true },
    { text: "I look." },
    { text: "", thoughtSignature: "SiG/words==" },
    { functionCall: { id: "f1", name: "read_file", args: { path: "a.md" } }, thoughtSignature: "SiG/call==" },
  ];
  const { replies, bodies } = await twice("gemini/gemini-3-pro-preview", "GEMINI", [
    gemini(parts),
    gemini([{ text: "Done." }]),
  ]);

  expect(replies[0]?.content).toEqual([
    { type: "reasoning", text: "Look first." },
    { type: "text", text: "I look.", meta: { google: { thoughtSignature: "SiG/words==" } } },
    {
      type: "call",
      id: "f1",
      name: "read_file",
      args: { path: "a.md" },
      meta: { google: { thoughtSignature: "SiG/call==" } },
    },
  ]);
  expect(bodies[1]?.contents).toEqual([
    { role: "user", parts: [{ text: "Find out" }] },
    {
      role: "model",
      parts: [
        { text: "Look first.", thought: true },
        { text: "I look.", thoughtSignature: "SiG/words==" },
        { functionCall: { id: "f1", name: "read_file", args: { path: "a.md" } }, thoughtSignature: "SiG/call==" },
      ],
    },
    {
      role: "user",
      parts: [
        { functionResponse: { id: "f1", name: "read_file", response: { name: "read_file", content: "no such file" } } },
      ],
    },
  ]);
  expect(bodies[1]?.tools).toMatchObject([{ googleSearch: {} }, { functionDeclarations: [{ name: "read_file" }] }]);
});

test("openrouter: reasoning details come back, and the cost is the one that it reports", async () => {
  const details = [
    { type: "reasoning.text", text: "Look first.", signature: "SiG==", format: "anthropic-claude-v1", index: 0 },
  ];
  const { replies, bodies } = await twice("openrouter/anthropic/claude-sonnet-4.5", "OPENROUTER", [
    chat([
      { delta: { role: "assistant", content: "", reasoning: "Look first.", reasoning_details: details } },
      { delta: { content: "I look." } },
      {
        delta: {
          tool_calls: [
            { index: 0, id: "call_1", type: "function", function: { name: "read_file", arguments: '{"path":"a.md"}' } },
          ],
        },
      },
      { delta: {}, finish_reason: "tool_calls" },
    ]),
    chat([{ delta: { content: "Done." } }, { delta: {}, finish_reason: "stop" }]),
  ]);

  expect(replies[0]).toMatchObject({ cost_usd: 0.0123, finish: "tool-calls" });
  expect(bodies[1]?.messages).toMatchObject([
    { role: "system", content: [{ text: "You look things up.", cache_control: { type: "ephemeral" } }] },
    { role: "user", content: [{ text: "Find out", cache_control: { type: "ephemeral" } }] },
    { role: "assistant", content: "I look.", reasoning_details: details, tool_calls: [{ id: "call_1" }] },
    { role: "tool", tool_call_id: "call_1", content: "no such file", cache_control: { type: "ephemeral" } },
  ]);
});

/** Asks, keeps the reply as our record would, answers its calls, asks again. */
async function twice(id: string, provider: string, recorded: string[]) {
  const bodies: Record<string, unknown>[] = [];
  const server = createServer(async (request, response) => {
    bodies.push(JSON.parse(Buffer.concat(await request.toArray()).toString()));
    response.writeHead(200, { "content-type": "text/event-stream" }).end(recorded[bodies.length - 1]);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => server.close());
  const address = server.address();
  const port = address instanceof Object ? address.port : 0;
  const env = { [`${provider}_API_KEY`]: "key", [`${provider}_BASE_URL`]: `http://127.0.0.1:${port}` };
  const catalog = createCatalog({
    env,
    config: {},
    sleep: () => Promise.reject(new Error("no retry here")),
    random: () => 0,
  });
  const model = await catalog.model(id);
  const history: Entry[] = [goal];
  const replies: ReplyEntry[] = [];
  for (const _ of recorded) {
    const onWarning = (message: string) => {
      throw new Error(`warned: ${message}`);
    };
    const reply = await model.reply(
      { system: "You look things up.", history, tools, onWarning },
      AbortSignal.timeout(5_000),
    );
    const kept: ReplyEntry = JSON.parse(JSON.stringify(reply));
    expect(kept).toEqual(reply);
    replies.push(reply);
    history.push(kept);
    for (const part of kept.content) {
      if (part.type === "call")
        history.push({ role: "tool", call_id: part.id, tool: part.name, content: "no such file", ok: false });
    }
  }
  return { replies, bodies };
}

function sse(events: unknown[]): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
}

function anthropic(stop_reason: string, blocks: Record<string, unknown>[][]): string {
  const usage = { input_tokens: 10, cache_creation_input_tokens: 40, cache_read_input_tokens: 60, output_tokens: 1 };
  return sse([
    {
      type: "message_start",
      message: { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage },
    },
    ...blocks.flatMap(([content_block, ...deltas], index) => [
      { type: "content_block_start", index, content_block },
      { type: "ping" },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 7 } },
    { type: "message_stop" },
  ]);
}

function responses(events: [string, Record<string, unknown>][]): string {
  const usage = {
    input_tokens: 20,
    input_tokens_details: { cached_tokens: 5 },
    output_tokens: 9,
    output_tokens_details: { reasoning_tokens: 4 },
  };
  const response = { id: "resp_1", object: "response", created_at: 1, model: "gpt-5", output: [] };
  return sse([
    { type: "response.created", sequence_number: 0, response },
    ...events.map(([type, event]) => ({ type, ...event })),
    { type: "response.completed", response: { ...response, incomplete_details: null, usage } },
  ]);
}

function gemini(parts: Record<string, unknown>[]): string {
  const usageMetadata = { promptTokenCount: 20, candidatesTokenCount: 9, totalTokenCount: 29 };
  return sse([
    ...parts.map((part) => ({ candidates: [{ content: { role: "model", parts: [part] } }] })),
    { candidates: [{ content: { role: "model", parts: [] }, finishReason: "STOP" }], usageMetadata },
  ]);
}

function chat(choices: Record<string, unknown>[]): string {
  const usage = { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29, cost: 0.0123 };
  const chunk = { id: "gen-1", object: "chat.completion.chunk", created: 1, model: "m", provider: "P" };
  return sse([
    ...choices.map((choice) => ({ ...chunk, choices: [{ index: 0, ...choice }] })),
    { ...chunk, choices: [], usage },
  ]);
}
