import { EventSize } from "../../boundary/event-size.ts";
import { AnswerOpening } from "../answer-opening.ts";

/**
 * One attempt at one request: it can be stopped from outside, and it stops itself when the connection goes silent or
 * floods us.
 *
 * ATTEMPT-1. `signal` fires once, for one `BreakReason`. `broken` says which.
 * ATTEMPT-2. Silence means no bytes, not no text: a ping or a comment keeps an attempt alive. The SDKs swallow those,
 *     so `listening` counts them below the SDK, at the response's reader.
 * ATTEMPT-3. There is one timer per attempt; received bytes postpone it.
 * ATTEMPT-4. Pings alone keep it alive for `quietMs` after the last text, and nothing for longer than `longestMs`. Both
 *     are checked whenever bytes arrive, so they need no timer.
 * ATTEMPT-5. What a parser has to buffer is limited: an event, or a body that is not a stream, to `maxEventBytes`; the
 *     body of an error is read up to `MOST_OF_AN_ERROR`.
 */
export interface Attempt {
  readonly signal: AbortSignal;
  readonly broken: BreakReason | null;
  /** How the answer begins, to name it if it is not a reply. */
  readonly opening: AnswerOpening;
  /** Bytes came; `unfinished` are those that belong to something that is not whole yet. */
  heard(bytes: number, unfinished?: number): void;
  /** The model said something. */
  said(): void;
  close(): void;
}

export type BreakReason =
  | "stopped" // by the caller
  | "stalled" // nothing came
  | "quiet" // nothing but pings came
  | "endless" // it took longer than any reply does
  | "flooded" // too many bytes
  | "overlong"; // too many bytes without the end of an event

export interface Timer {
  refresh(): void;
  stop(): void;
}

/** Calls back once after `ms`, unless it is refreshed or stopped. */
export type StartTimer = (ms: number, callback: () => void) => Timer;

export interface AttemptLimits {
  stallMs: number;
  maxBytes: number;
  maxEventBytes?: number;
  quietMs?: number;
  longestMs?: number;
  startTimer: StartTimer;
  now?: () => number;
}

export const MOST_OF_AN_ERROR = 64 * 1024;
const NEVER = Number.POSITIVE_INFINITY;

export function beginAttempt(outer: AbortSignal, limits: AttemptLimits): Attempt {
  const { stallMs, maxBytes, maxEventBytes = maxBytes, quietMs = NEVER, longestMs = NEVER, now = Date.now } = limits;
  const controller = new AbortController();
  const began = now();
  let lastSaid = began;
  let broken: Attempt["broken"] = null;
  let total = 0;
  const end = (why: BreakReason) => {
    if (broken !== null) return;
    broken = why;
    controller.abort();
  };
  const onStop = () => end("stopped");
  outer.addEventListener("abort", onStop, { once: true });
  if (outer.aborted) onStop();
  const timer = limits.startTimer(stallMs, () => end("stalled"));

  const attempt: Attempt = {
    signal: controller.signal,
    get broken() {
      return broken;
    },
    opening: new AnswerOpening(),
    heard(bytes, unfinished = 0) {
      total += bytes;
      const at = now();
      if (total > maxBytes) end("flooded");
      else if (unfinished > maxEventBytes) end("overlong");
      else if (at - lastSaid > quietMs) end("quiet");
      else if (at - began > longestMs) end("endless");
      else timer.refresh();
    },
    said() {
      lastSaid = now();
    },
    close() {
      timer.stop();
      outer.removeEventListener("abort", onStop);
      attempts.delete(controller.signal);
    },
  };
  attempts.set(controller.signal, attempt);
  return attempt;
}

const attempts = new WeakMap<AbortSignal, Attempt>();

/** A fetch that reports arriving bytes to the attempt to which its request belongs. */
export function listening(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const attempt = init?.signal ? attempts.get(init.signal) : undefined;
    attempt?.opening.begin(response.headers.get("content-type"));
    if (attempt !== undefined && response.body !== null) {
      attempt.heard(0);
      reportReads(response.body, attempt, response.ok ? NEVER : MOST_OF_AN_ERROR);
    }
    return response;
  };
}

/**
 * Wrapping the one reader costs a promise a chunk; another stream in the pipe would cost several. The parsers of the
 * SDKs keep an event until it is whole, so it is measured before they see it.
 */
function reportReads(body: ReadableStream<Uint8Array>, attempt: Attempt, most: number): void {
  const event = new EventSize();
  let total = 0;
  const open = (): ReadableStreamDefaultReader<Uint8Array> => {
    const reader = ReadableStream.prototype.getReader.call(body) as ReadableStreamDefaultReader<Uint8Array>;
    reader.read = async () => {
      if (total >= most) {
        await reader.cancel().catch(() => {});
        return { done: true, value: undefined };
      }
      const result = await ReadableStreamDefaultReader.prototype.read.call(reader);
      const chunk = result.value;
      if (chunk instanceof Uint8Array) {
        total += chunk.byteLength;
        attempt.opening.add(chunk);
        attempt.heard(chunk.byteLength, event.add(chunk));
      }
      return result;
    };
    return reader;
  };
  Object.defineProperty(body, "getReader", { value: open });
}

export const nodeTimer: StartTimer = (ms, callback) => {
  const timeout = setTimeout(callback, ms);
  return { refresh: () => timeout.refresh(), stop: () => clearTimeout(timeout) };
};
