/** Time, passed in. The real one is `src/runtime/config/system-clock.ts`; tests use a manual one. */
export interface Clock {
  /** Milliseconds since the epoch. May jump; order never depends on it. */
  now(): number;
  /** Resolves after `ms`, however long that is; rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}
