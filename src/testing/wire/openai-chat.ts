import type { WireFinish } from "../provider-turn.ts";
import { contentWords, type JsonRecord, parsedOr, recordOf, recordsOf, stringOf } from "./json.ts";
import {
  type ChatVendor,
  frame,
  joined,
  type ProviderMessage,
  type ProviderWire,
  pieces,
  type WireReply,
} from "./wire.ts";

/** Chat Completions: `POST …/chat/completions`, as OpenAI, OpenRouter and Ollama (and those like them) answer it. */
export function openaiChatWire(vendor: ChatVendor): ProviderWire {
  return {
    read(body) {
      const messages = recordsOf(body.messages);
      const isSystem = (message: JsonRecord) => message.role === "system" || message.role === "developer";
      return {
        system: messages
          .filter(isSystem)
          .map((message) => contentWords(message.content))
          .join("\n"),
        messages: joined(messages.filter((message) => !isSystem(message)).map(readMessage)),
        tools: recordsOf(body.tools).map((tool) => stringOf(recordOf(tool.function).name) || stringOf(tool.type)),
      };
    },

    stream(reply) {
      const chunk = (delta: JsonRecord, finish_reason: string | null = null) =>
        frame({ ...envelope(reply, "chat.completion.chunk", vendor), choices: [{ index: 0, delta, finish_reason }] });
      const frames = [
        ...(vendor === "openrouter" ? [": OPENROUTER PROCESSING\n\n"] : []),
        chunk({ role: "assistant", content: "" }),
        ...thinkingDeltas(reply, vendor).map((delta) => chunk(delta)),
        ...(reply.unknownBlock ? [chunk({ hologram: { frames: 3 } })] : []),
        ...pieces(reply.text).map((content) => chunk({ content })),
        ...reply.calls.flatMap((call, index) => callDeltas(call, index, vendor)).map((delta) => chunk(delta)),
      ];
      const ending = frames.length;
      const usage = { ...envelope(reply, "chat.completion.chunk", vendor), choices: [], usage: usageOf(reply) };
      frames.push(chunk({}, FINISH_REASON[reply.finish]), frame(usage), "data: [DONE]\n\n");
      return { frames, ending };
    },

    whole(reply) {
      const tool_calls = reply.calls.map(({ id, name, json }) => ({
        id: `call_${id}`,
        type: "function",
        function: { name, arguments: json },
      }));
      const message = {
        role: "assistant",
        content: reply.text === "" ? null : reply.text,
        ...Object.assign({}, ...thinkingDeltas(reply, vendor)),
        ...(reply.unknownBlock ? { hologram: { frames: 3 } } : {}),
        ...(tool_calls.length > 0 ? { tool_calls } : {}),
      };
      const choices = [{ index: 0, message, finish_reason: FINISH_REASON[reply.finish] }];
      return { ...envelope(reply, "chat.completion", vendor), choices, usage: usageOf(reply) };
    },

    refusal(status, message) {
      if (vendor === "openrouter") return { error: { code: status, message, metadata: { provider_name: "Scripted" } } };
      return { error: { message, type: ERROR_TYPE[status] ?? "server_error", param: null, code: null } };
    },

    streamError: (kind) => errorFrame(kind, vendor),
  };
}

function errorFrame(kind: Parameters<ProviderWire["streamError"]>[0], vendor: ChatVendor): string {
  const isOverloaded = kind === "overloaded";
  const message = isOverloaded ? "The engine is currently overloaded" : "The server had an error";
  if (vendor !== "openrouter")
    return frame({ error: { message, type: "server_error", param: null, code: isOverloaded ? "overloaded" : null } });
  return frame({
    id: "gen-error",
    object: "chat.completion.chunk",
    error: { code: isOverloaded ? 429 : 502, message },
    choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
  });
}

const FINISH_REASON: Record<WireFinish, string> = {
  stop: "stop",
  "tool-calls": "tool_calls",
  length: "length",
  "content-filter": "content_filter",
  pause: "stop",
};

const ERROR_TYPE: Record<number, string> = {
  400: "invalid_request_error",
  401: "invalid_request_error",
  429: "rate_limit_exceeded",
};

/** OpenAI hides the thoughts here, Ollama names them `reasoning`, OpenRouter adds details that it wants back. */
function thinkingDeltas({ thinking }: WireReply, vendor: ChatVendor): JsonRecord[] {
  if (!thinking) return [];
  if (vendor === "ollama") return [{ reasoning: thinking.text }];
  if (vendor === "openai") return [{ reasoning_content: thinking.text }];
  const details = {
    type: "reasoning.text",
    text: thinking.text,
    signature: thinking.signature,
    format: "anthropic-claude-v1",
    index: 0,
  };
  return [{ reasoning: thinking.text, reasoning_details: [details] }];
}

/** OpenAI streams the arguments in pieces; Ollama sends each call whole. */
function callDeltas({ id, name, json }: WireReply["calls"][number], index: number, vendor: ChatVendor): JsonRecord[] {
  const opening = { index, id: `call_${id}`, type: "function" };
  if (vendor === "ollama") return [{ tool_calls: [{ ...opening, function: { name, arguments: json } }] }];
  return [
    { tool_calls: [{ ...opening, function: { name, arguments: "" } }] },
    ...pieces(json).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ];
}

function envelope({ id, model, created }: WireReply, object: string, vendor: ChatVendor): JsonRecord {
  if (vendor === "openrouter") return { id: `gen-${id}`, provider: "Scripted", model, object, created };
  return { id: `chatcmpl-${id}`, object, created, model, system_fingerprint: "fp_scripted" };
}

function usageOf({ usage }: WireReply) {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cache_read },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  };
}

function readMessage(message: JsonRecord): ProviderMessage {
  const text = contentWords(message.content);
  if (message.role === "tool") return { role: "tool", call_id: stringOf(message.tool_call_id), text };
  if (message.role !== "assistant") return { role: "user", text };
  const calls = recordsOf(message.tool_calls).map((call) => {
    const { name, arguments: json } = recordOf(call.function);
    return { id: stringOf(call.id), name: stringOf(name), args: parsedOr(stringOf(json)) };
  });
  return { role: "assistant", text, calls };
}
