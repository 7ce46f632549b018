import type { Clock } from "../protocol/clock.ts";

/**
 * A clock that stands still until a test moves it.
 *
 * ```ts
 * const clock = manualClock();
 * const nap = clock.sleep(60_000, signal);
 * await clock.advance(60_000);
 * await nap;
 * ```
 *
 * MANUAL-CLOCK-1. Sleepers wake in the order of their due times, each seeing `now()` at its own due time.
 * MANUAL-CLOCK-2. A sleep that begins while time advances, and is due within it, wakes within the same `advance`.
 */
export interface ManualClock extends Clock {
  /** Moves time forward, wakes what is due, and resolves when all that follows at once has been done. */
  advance(ms: number): Promise<void>;
  /** Resolves as soon as at least `count` sleepers wait. */
  sleeping(count?: number): Promise<void>;
  /** When those who sleep now will wake, soonest first. */
  readonly due: readonly number[];
}

/** Starts at 1 January 2026, unless told otherwise. */
export function manualClock(start = Date.UTC(2026, 0, 1)): ManualClock {
  let now = start;
  let sleepers: Sleeper[] = [];
  let watchers: { count: number; resolve: () => void }[] = [];

  function add(sleeper: Sleeper) {
    sleepers = [...sleepers, sleeper].sort((a, b) => a.due - b.due);
    for (const watcher of watchers) if (sleepers.length >= watcher.count) watcher.resolve();
    watchers = watchers.filter((watcher) => sleepers.length < watcher.count);
  }

  return {
    now: () => now,
    get due() {
      return sleepers.map((sleeper) => sleeper.due);
    },
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        if (ms <= 0) return resolve();
        const stop = () => {
          sleepers = sleepers.filter((other) => other !== sleeper);
          reject(signal.reason);
        };
        const wake = () => {
          signal.removeEventListener("abort", stop);
          resolve();
        };
        const sleeper: Sleeper = { due: now + ms, wake };
        signal.addEventListener("abort", stop, { once: true });
        add(sleeper);
      });
    },
    async advance(ms) {
      const until = now + ms;
      await settled();
      for (let next = sleepers[0]; next !== undefined && next.due <= until; next = sleepers[0]) {
        now = next.due;
        sleepers = sleepers.slice(1);
        next.wake();
        await settled();
      }
      now = until;
    },
    sleeping(count = 1) {
      if (sleepers.length >= count) return Promise.resolve();
      return new Promise((resolve) => watchers.push({ count, resolve }));
    },
  };
}

interface Sleeper {
  due: number;
  wake: () => void;
}

/** One trip through the event loop: every promise that can go on by itself has gone on. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
