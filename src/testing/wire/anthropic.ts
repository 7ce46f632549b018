import type { WireFinish } from "../provider-turn.ts";
import { contentWords, type JsonRecord, recordOf, recordsOf, stringOf } from "./json.ts";
import { frame, joined, type ProviderMessage, type ProviderWire, pieces, type WireReply } from "./wire.ts";

/** Anthropic Messages: `POST /v1/messages`. */
export const anthropicWire: ProviderWire = {
  read(body) {
    return {
      system: contentWords(body.system),
      messages: joined(recordsOf(body.messages).flatMap(readMessage)),
      tools: recordsOf(body.tools).map((tool) => stringOf(tool.name)),
    };
  },

  stream(reply) {
    const message = { ...envelope(reply), content: [], stop_reason: null, stop_sequence: null };
    const frames = [
      event("message_start", {
        message: { ...message, usage: { ...usageOf({ ...reply, search: undefined }), output_tokens: 1 } },
      }),
      event("ping", {}),
      ...blocksOf(reply).flatMap(blockFrames),
    ];
    const ending = frames.length;
    const delta = { stop_reason: STOP_REASON[reply.finish], stop_sequence: null };
    frames.push(event("message_delta", { delta, usage: usageOf(reply) }), event("message_stop", {}));
    return { frames, ending };
  },

  whole(reply) {
    const content = blocksOf(reply).map(({ whole }) => whole);
    return {
      ...envelope(reply),
      content,
      stop_reason: STOP_REASON[reply.finish],
      stop_sequence: null,
      usage: usageOf(reply),
    };
  },

  refusal(status, message) {
    return { type: "error", error: { type: ERROR_TYPE[status] ?? "api_error", message }, request_id: "req_scripted" };
  },

  streamError(kind) {
    const error =
      kind === "overloaded"
        ? { type: "overloaded_error", message: "Overloaded" }
        : { type: "api_error", message: "Internal server error" };
    return event("error", { error });
  },
};

const STOP_REASON: Record<WireFinish, string> = {
  stop: "end_turn",
  "tool-calls": "tool_use",
  length: "max_tokens",
  "content-filter": "refusal",
  pause: "pause_turn",
};

const ERROR_TYPE: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  529: "overloaded_error",
};

/** A content block as it stands in a whole message, as it starts in a stream, and the deltas between. */
interface Block {
  whole: JsonRecord;
  start: JsonRecord;
  deltas: JsonRecord[];
}

function blocksOf(reply: WireReply): Block[] {
  const blocks: Block[] = [];
  if (reply.thinking) blocks.push(thinkingBlock(reply.thinking));
  if (reply.search) blocks.push(...searchBlocks(reply, reply.search));
  if (reply.unknownBlock) blocks.push(same({ type: "hologram", frames: 3 }));
  if (reply.text !== "") blocks.push(textBlock(reply));
  for (const { id, name, json } of reply.calls) {
    const deltas = pieces(json).map((partial_json) => ({ type: "input_json_delta", partial_json }));
    // The vendor opens every call's arguments with an empty piece.
    const opening = { type: "input_json_delta", partial_json: "" };
    const start = { type: "tool_use", id: `toolu_${id}`, name, input: {} };
    blocks.push({ whole: { ...start, input: wholeInput(json) }, start, deltas: [opening, ...deltas] });
  }
  return blocks;
}

function thinkingBlock({ text, signature, redacted }: NonNullable<WireReply["thinking"]>): Block {
  if (redacted) return same({ type: "redacted_thinking", data: signature });
  return {
    whole: { type: "thinking", thinking: text, signature },
    start: { type: "thinking", thinking: "", signature: "" },
    deltas: [
      ...pieces(text).map((thinking) => ({ type: "thinking_delta", thinking })),
      { type: "signature_delta", signature },
    ],
  };
}

function searchBlocks(reply: WireReply, { query, results }: NonNullable<WireReply["search"]>): Block[] {
  const id = `srvtoolu_${reply.id}`;
  const start = { type: "server_tool_use", id, name: "web_search", input: {} };
  const input = { query };
  const content = results.map(({ url, title, encrypted }) => ({
    type: "web_search_result",
    url,
    title,
    encrypted_content: encrypted,
    page_age: null,
  }));
  return [
    {
      whole: { ...start, input },
      start,
      deltas: pieces(JSON.stringify(input)).map((partial_json) => ({ type: "input_json_delta", partial_json })),
    },
    same({ type: "web_search_tool_result", tool_use_id: id, content }),
  ];
}

function textBlock({ text, search }: WireReply): Block {
  const citations = (search?.results ?? []).map(({ url, title, encrypted }) => ({
    type: "web_search_result_location",
    url,
    title,
    encrypted_index: `index of ${encrypted}`,
    cited_text: text.slice(0, 150),
  }));
  const cited = citations.length > 0 ? { citations } : {};
  return {
    whole: { type: "text", text, ...cited },
    start: { type: "text", text: "", ...(citations.length > 0 ? { citations: [] } : {}) },
    deltas: [
      ...citations.map((citation) => ({ type: "citations_delta", citation })),
      ...pieces(text).map((piece) => ({ type: "text_delta", text: piece })),
    ],
  };
}

function same(whole: JsonRecord): Block {
  return { whole, start: whole, deltas: [] };
}

function blockFrames({ start, deltas }: Block, index: number): string[] {
  return [
    event("content_block_start", { index, content_block: start }),
    ...deltas.map((delta) => event("content_block_delta", { index, delta })),
    event("content_block_stop", { index }),
  ];
}

function event(type: string, data: JsonRecord): string {
  return frame({ type, ...data }, type);
}

function envelope({ id, model }: WireReply) {
  return { id: `msg_${id}`, type: "message", role: "assistant", model };
}

/** Anthropic counts what was not cached apart from what was. */
function usageOf({ usage, search }: WireReply) {
  return {
    input_tokens: usage.input - usage.cache_read - usage.cache_write,
    cache_creation_input_tokens: usage.cache_write,
    cache_read_input_tokens: usage.cache_read,
    output_tokens: usage.output,
    ...(search ? { server_tool_use: { web_search_requests: 1 } } : {}),
  };
}

function wholeInput(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return { invalid: json };
  }
}

function readMessage(message: JsonRecord): ProviderMessage[] {
  if (typeof message.content === "string") {
    return [
      message.role === "assistant"
        ? { role: "assistant", text: message.content, calls: [] }
        : { role: "user", text: message.content },
    ];
  }
  const blocks = recordsOf(message.content);
  if (message.role === "assistant") {
    const calls = blocks
      .filter((block) => block.type === "tool_use")
      .map((block) => ({ id: stringOf(block.id), name: stringOf(block.name), args: recordOf(block.input) }));
    return [{ role: "assistant", text: contentWords(blocks.filter((block) => block.type === "text")), calls }];
  }
  return blocks.map((block) =>
    block.type === "tool_result"
      ? { role: "tool", call_id: stringOf(block.tool_use_id), text: contentWords(block.content) }
      : { role: "user", text: stringOf(block.text) },
  );
}
