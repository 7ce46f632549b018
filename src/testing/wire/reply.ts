import type { ProviderCall, ProviderTurn } from "../provider-turn.ts";
import type { WireConversation, WireReply } from "./wire.ts";

/** Completes a turn with everything a real reply has: ids, a count of tokens, a reason for its end. */
export function replyFor(
  turn: ProviderTurn,
  request: WireConversation & { model: string },
  number: number,
  requestBytes: number,
): WireReply {
  const tag = turn.calls?.length && request.tools.length === 0 ? textTag(request.system) : undefined;
  const calls = turn.calls ?? [];
  const text = tag
    ? [turn.text ?? "", ...calls.map((call) => asText(call, tag))].filter(Boolean).join("\n")
    : (turn.text ?? "");
  const native = tag ? [] : calls;
  return {
    id: `scripted${number}`,
    model: request.model,
    created: 1_767_225_600 + number,
    thinking:
      typeof turn.thinking === "string" ? { text: turn.thinking, signature: `signature-${number}` } : turn.thinking,
    search: turn.search,
    text,
    calls: native.map((call, at) => ({ id: `${number}_${at + 1}`, name: call.name, json: argumentsOf(call) })),
    usage: {
      input: Math.ceil(requestBytes / 4),
      output: Math.ceil((text.length + native.reduce((sum, call) => sum + argumentsOf(call).length, 0)) / 4),
      cache_read: 0,
      cache_write: 0,
      reasoning: 0,
      ...turn.usage,
    },
    finish: turn.finish ?? (native.length > 0 ? "tool-calls" : "stop"),
    unknownBlock: turn.unknownBlock ?? false,
  };
}

interface TextTag {
  open: string;
  close: string;
}

/** A client that offers no tools asks in its system prompt for calls between tags; the prompt shows which. */
function textTag(system: string): TextTag | undefined {
  const [, open, close] = /(<tool_call[^<>]*>)[^<>]*(<\/tool_call[^<>]*>)/.exec(system) ?? [];
  return open === undefined || close === undefined ? undefined : { open, close };
}

function asText(call: ProviderCall, { open, close }: TextTag): string {
  const body =
    "rawArgs" in call
      ? `{"name": ${JSON.stringify(call.name)}, "arguments": ${call.rawArgs}}`
      : JSON.stringify({ name: call.name, arguments: call.args });
  return `${open}${body}${close}`;
}

function argumentsOf(call: ProviderCall): string {
  return "rawArgs" in call ? call.rawArgs : JSON.stringify(call.args);
}
