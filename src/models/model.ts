import type { Entry, ReplyEntry, ResultEntry } from "../protocol/index.ts";

/** A tool as a model sees it: one text and a schema, and nothing of either in the prompt (docs/decisions/prompts.md). */
export interface ToolSpec {
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  parameters: Record<string, unknown>;
  /** It only looks: running it changes nothing for anybody. Of some that depends on the arguments. */
  readOnly?: true | ((args: unknown) => boolean);
}

/** A result with the picture it points at. */
export interface ShownResult extends ResultEntry {
  shown: { media_type: string; data: string };
}

export interface ModelRequest {
  system: string;
  /** Since the last summary, oldest first; never contains `system` entries. */
  history: readonly Entry[];
  tools: readonly ToolSpec[];
  /** Streamed words, as they come. They go live to listeners and never into the log. */
  onDelta?: (delta: { kind: "text" | "reasoning"; text: string }) => void;
  /** Each attempt that failed, before the wait that follows it; `retryInMs` is null when it was the last. */
  onFailure?: (failure: ModelFailure, retryInMs: number | null) => void;
  /** What the provider said it ignored or changed. Visible in use, an error in tests. */
  onWarning?: (message: string) => void;
}

/** A language model. There is one streamed path; a caller that wants no stream just awaits the reply. */
export interface Model {
  /** As people write it: `anthropic/claude-sonnet-4-5`. */
  readonly id: string;
  readonly contextWindow: number;
  /** The provider searches the web by itself, so our own `web_search` is not offered. */
  readonly searchesWeb: boolean;
  /** It can be shown pictures. */
  readonly seesPictures?: boolean;
  /**
   * Resolves with a whole reply. Rejects with a ModelFailure, or with the signal's reason when it was stopped; a signal
   * may have been aborted before it is passed in, and then tells nobody any more.
   */
  reply(request: ModelRequest, signal: AbortSignal): Promise<ReplyEntry>;
}

export type FailureReason =
  | "rate_limited" // 429, 529
  | "server" // 5xx
  | "connection" // refused, reset, DNS
  | "truncated" // the stream ended with neither finish nor error
  | "stalled" // nothing came for too long
  | "unreadable" // not what the API promises
  | "empty" // a reply without words or calls
  | "bad_request" // 400 and other 4xx
  | "context_too_long"
  | "auth" // 401, 403
  | "redirected" // 301 to 308: what was asked would go to another address
  | "unknown";

/** One failed attempt. `retryable` means that the same request may be sent again. */
export class ModelFailure extends Error {
  override readonly name = "ModelFailure";
  readonly reason: FailureReason;
  readonly retryable: boolean;
  readonly status: number | undefined;
  /** What the provider asked us to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(
    reason: FailureReason,
    message: string,
    details: { retryable: boolean; status?: number; retryAfterMs?: number; cause?: unknown },
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.reason = reason;
    this.retryable = details.retryable;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
  }
}
