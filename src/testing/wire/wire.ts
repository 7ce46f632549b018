import type { Usage } from "../../protocol/index.ts";
import type { Search, Thinking, WireFinish } from "../provider-turn.ts";
import type { JsonRecord } from "./json.ts";

/**
 * How one vendor's API is spoken, as pure functions: requests become a conversation, replies become frames.
 *
 * TEST-WIRE-1. Frames are whole server-sent events, in the vendor's order and spelling; their concatenation is the
 *     response.
 * TEST-WIRE-2. Frames before `ending` carry content only; without those from `ending` on, a client must not take the
 *     reply for complete, although every call in it may be.
 */
export interface ProviderWire {
  read(body: JsonRecord): WireConversation;
  stream(reply: WireReply): WireStream;
  /** The body of a reply that was not asked to stream. */
  whole(reply: WireReply): JsonRecord;
  refusal(status: number, message: string): JsonRecord;
  /** An error inside a stream that began well. */
  streamError(kind: "overloaded" | "server"): string;
}

export type ProviderApi = "anthropic" | "openai-responses" | "openai-chat" | "gemini";

/** Who answers Chat Completions: they differ in small things that clients trip over. */
export type ChatVendor = "openai" | "openrouter" | "ollama";

/** A request in words common to all vendors. */
export interface WireConversation {
  system: string;
  messages: ProviderMessage[];
  /** Names of the tools on offer, the vendor's own ones included. */
  tools: string[];
}

export type ProviderMessage =
  | { role: "user"; text: string }
  | { role: "assistant"; text: string; calls: { id: string; name: string; args: unknown }[] }
  | { role: "tool"; call_id: string; text: string };

export interface WireReply {
  /** Unique per response; other ids are made from it. */
  id: string;
  model: string;
  created: number;
  thinking: Thinking | undefined;
  search: Search | undefined;
  text: string;
  calls: { id: string; name: string; json: string }[];
  usage: Usage;
  finish: WireFinish;
  unknownBlock: boolean;
}

export interface WireStream {
  frames: string[];
  ending: number;
}

/** One server-sent event. */
export function frame(data: unknown, event?: string): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** Cuts a text as a model streams it: small pieces, yet never many of them, and two at least where that is possible. */
export function pieces(text: string): string[] {
  const size = Math.max(1, Math.min(24, Math.ceil(text.length / 2)), Math.ceil(text.length / 25));
  const cut: string[] = [];
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = at + size;
    // No vendor cuts a character in two.
    if (/[\uDC00-\uDFFF]/.test(text[end] ?? "")) end++;
    cut.push(text.slice(at, end));
  }
  return cut;
}

/** Neighbouring messages of one speaker are one turn, and some vendors' clients split what others join. */
export function joined(messages: readonly ProviderMessage[]): ProviderMessage[] {
  const result: ProviderMessage[] = [];
  for (const message of messages) {
    const last = result.at(-1);
    if (last?.role === "assistant" && message.role === "assistant") {
      result[result.length - 1] = {
        role: "assistant",
        text: last.text + message.text,
        calls: [...last.calls, ...message.calls],
      };
    } else if (last?.role === "user" && message.role === "user") {
      result[result.length - 1] = { role: "user", text: `${last.text}\n${message.text}` };
    } else {
      result.push(message);
    }
  }
  return result;
}
