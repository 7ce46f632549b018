import type { ReplyEntry } from "../../protocol/index.ts";
import { type FailureReason, type Model, ModelFailure, type ModelRequest } from "../model.ts";

/**
 * Retries requests that may succeed the next time.
 *
 * RETRY-1. The number of attempts is limited, and lower where a failed attempt costs tokens.
 * RETRY-2. We wait at least as long as the provider asked, and longer from try to try: some ask for a second again and
 *     again while a limit lasts a minute. A wait longer than `maxWaitMs` is left to the caller: it
 *     gets the failure with `retryAfterMs`, and the worker waits on record.
 * RETRY-3. Every failed attempt is reported to `onFailure` before the wait that follows it. Words streamed by a failed
 *     attempt were already passed on; a listener discards them in `onFailure`.
 */
export interface RetryPorts {
  /** Rejects with the signal's reason when it fires. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** From 0 up to, not including, 1. */
  random(): number;
}

export interface RetryLimits {
  maxAttempts?: number;
  maxWaitMs?: number;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_BACKOFF_MS = 30_000;

export function withRetry(
  model: Model,
  { sleep, random, maxAttempts = 6, maxWaitMs = 60_000 }: RetryPorts & RetryLimits,
): Model {
  async function reply(request: ModelRequest, signal: AbortSignal): Promise<ReplyEntry> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await model.reply(request, signal);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (!(error instanceof ModelFailure)) throw error;
        const wait = attempt < triesFor(error.reason, maxAttempts) ? waitAfter(error, attempt, random) : null;
        const again = error.retryable && wait !== null && wait <= maxWaitMs;
        request.onFailure?.(error, again ? wait : null);
        if (!again) throw error;
        await sleep(wait, signal);
      }
    }
  }
  return {
    id: model.id,
    contextWindow: model.contextWindow,
    searchesWeb: model.searchesWeb,
    seesPictures: model.seesPictures ?? false,
    reply,
  };
}

/** These were paid for. */
const COSTLY: readonly FailureReason[] = ["truncated", "stalled", "unreadable", "empty"];

function triesFor(reason: FailureReason, maxAttempts: number): number {
  return COSTLY.includes(reason) ? Math.min(3, maxAttempts) : maxAttempts;
}

function waitAfter({ retryAfterMs }: ModelFailure, attempt: number, random: () => number): number {
  const longest = Math.min(LONGEST_BACKOFF_MS, FIRST_WAIT_MS * 2 ** (attempt - 1));
  const backoff = longest / 2 + (random() * longest) / 2;
  // Many workers hit the same limit at once and must not come back at once.
  const asked = retryAfterMs === undefined ? 0 : retryAfterMs + random() * Math.min(1_000, 100 + retryAfterMs / 10);
  return Math.round(Math.max(backoff, asked));
}
