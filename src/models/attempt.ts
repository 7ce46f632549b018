/**
 * One try at one request: it can be stopped from outside, and it stops itself when the wire goes silent or floods us.
 *
 * A1. `signal` fires once: for the caller's signal, for silence, or for too many bytes. `broken` says which.
 * A2. Silence is about bytes, not about words: a ping or a comment keeps an attempt alive. The SDKs swallow those, so
 *     `listening` counts them below the SDK, at the response's reader.
 * A3. There is one timer for an attempt; hearing something pushes it back.
 */
export interface Attempt {
  readonly signal: AbortSignal;
  readonly broken: "stopped" | "stalled" | "flooded" | null;
  heard(bytes: number): void;
  close(): void;
}

export interface Timer {
  refresh(): void;
  stop(): void;
}

/** Calls back once after `ms`, unless it is refreshed or stopped. */
export type StartTimer = (ms: number, callback: () => void) => Timer;

export interface AttemptLimits {
  stallMs: number;
  maxBytes: number;
  startTimer: StartTimer;
}

export function beginAttempt(outer: AbortSignal, { stallMs, maxBytes, startTimer }: AttemptLimits): Attempt {
  const controller = new AbortController();
  let broken: Attempt["broken"] = null;
  let total = 0;
  const end = (why: NonNullable<Attempt["broken"]>) => {
    if (broken !== null) return;
    broken = why;
    controller.abort();
  };
  const onStop = () => end("stopped");
  outer.addEventListener("abort", onStop, { once: true });
  if (outer.aborted) onStop();
  const timer = startTimer(stallMs, () => end("stalled"));

  const attempt: Attempt = {
    signal: controller.signal,
    get broken() {
      return broken;
    },
    heard(bytes) {
      total += bytes;
      if (total > maxBytes) end("flooded");
      else timer.refresh();
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

/** A fetch that tells the attempt its request belongs to whenever bytes arrive. */
export function listening(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const attempt = init?.signal ? attempts.get(init.signal) : undefined;
    if (attempt !== undefined && response.body !== null) {
      attempt.heard(0);
      reportReads(response.body, attempt);
    }
    return response;
  };
}

/** Wrapping the one reader costs a promise a chunk; another stream in the pipe would cost several. */
function reportReads(body: ReadableStream<Uint8Array>, attempt: Attempt): void {
  const open = (): ReadableStreamDefaultReader<Uint8Array> => {
    const reader = ReadableStream.prototype.getReader.call(body) as ReadableStreamDefaultReader<Uint8Array>;
    reader.read = async () => {
      const result = await ReadableStreamDefaultReader.prototype.read.call(reader);
      attempt.heard(result.value instanceof Uint8Array ? result.value.byteLength : 0);
      return result;
    };
    return reader;
  };
  Object.defineProperty(body, "getReader", { value: open });
}

/** Waits for the answer's beginning, but not longer than the signal allows: an SDK, or a fetch, may not look at it. */
export function orAbort<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject);
  });
}

export const nodeTimer: StartTimer = (ms, callback) => {
  const timeout = setTimeout(callback, ms);
  return { refresh: () => timeout.refresh(), stop: () => clearTimeout(timeout) };
};
