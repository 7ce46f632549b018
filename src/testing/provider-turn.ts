import type { Usage } from "../protocol/index.ts";

/**
 * What the scripted provider answers to one request. Plain data, so that a script can also be a JSON file.
 *
 * ```ts
 * { text: "Reading it.", calls: [{ name: "read_file", args: { path: "a.md" } }] }
 * { fault: { status: 429, retryAfter: 7 } }
 * { text: "half of", fault: { truncate: "midway" } }
 * ```
 */
export interface ProviderTurn {
  thinking?: string | Thinking;
  search?: Search;
  text?: string;
  calls?: readonly ProviderCall[];
  /** `input` counts every prompt token, cached ones included; `output` counts the reasoning. Guessed when left out. */
  usage?: Partial<Usage>;
  /** Why the model stopped; `stop` or `tool-calls` unless said. `pause` is Anthropic's `pause_turn`, elsewhere `stop`. */
  finish?: WireFinish;
  /** A block, item, delta or part of a kind that nobody knows stands in the middle of the reply. */
  unknownBlock?: boolean;
  fault?: Fault;
  /** Held before its headers until `server.release(hold)`. */
  hold?: string;
  /** Held after half of the stream until `server.release(holdMidway)`. */
  holdMidway?: string;
  latencyMs?: number;
}

/** Thoughts with what the vendor wants handed back: a signature, encrypted reasoning, a thought signature. */
export interface Thinking {
  text: string;
  signature: string;
  /** The vendor hides the words (Anthropic's redacted thinking, OpenAI without summaries). */
  redacted?: boolean;
}

/** `rawArgs` is sent as it stands, JSON or not. Gemini has no such thing and stops with MALFORMED_FUNCTION_CALL. */
export type ProviderCall = { name: string; args: unknown } | { name: string; rawArgs: string };

/** A web search that the provider does by itself, with what it cites. */
export interface Search {
  query: string;
  results: readonly { url: string; title: string; encrypted: string }[];
}

export type WireFinish = "stop" | "tool-calls" | "length" | "content-filter" | "pause";

export type Fault =
  /** An HTTP error. `retryAfter` goes out as it is: seconds, or a date. */
  | {
      status: number;
      message?: string;
      body?: string;
      retryAfter?: number | string;
      headers?: Readonly<Record<string, string>>;
    }
  /** The response ends in good order, but too early: after half of it, or just before its finish. */
  | { truncate: "midway" | "before_finish" }
  /** The connection is reset. */
  | { reset: "before_headers" | "midway" }
  /** Nothing more comes, and the connection stays open until the client or the test ends it. */
  | { stall: "before_headers" | "midway" }
  /** A data line in the middle of the stream that is not JSON; without streaming, a body that is not. */
  | { badJson: true }
  /** The stream begins well and then carries an error, as providers do when they are overloaded. */
  | { streamError: "overloaded" | "server" }
  /** A success whose body is a proxy's web page. */
  | { webPage: true }
  /** Not wrong, only unkind: the bytes arrive in small pieces that cut through lines and characters. */
  | { shredded: true };
