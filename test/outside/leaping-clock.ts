import type { Clock } from "../../src/protocol/clock.ts";

/** A clock that runs like the system's, for real programs, and can leap forward: a night passes in a minute. */
export interface LeapingClock extends Clock {
  /** What is due by then wakes, the earliest first. */
  leap(ms: number): void;
}

export function leapingClock(ahead = 0): LeapingClock {
  const sleepers = new Set<{ due: number; arm(): void; wake(): void }>();
  const now = () => Date.now() + ahead;
  return {
    now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        let timer: NodeJS.Timeout | undefined;
        const over = () => {
          clearTimeout(timer);
          sleepers.delete(sleeper);
          signal.removeEventListener("abort", stop);
        };
        const stop = () => {
          over();
          reject(signal.reason);
        };
        const sleeper = {
          due: now() + ms,
          arm() {
            clearTimeout(timer);
            timer = setTimeout(() => sleeper.wake(), Math.min(Math.max(0, sleeper.due - now()), LONGEST_TIMER));
          },
          wake() {
            if (sleeper.due > now() + 1) return sleeper.arm();
            over();
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal.addEventListener("abort", stop, { once: true });
        sleeper.arm();
      }),
    leap(ms) {
      ahead += ms;
      for (const sleeper of [...sleepers].sort((a, b) => a.due - b.due)) sleeper.wake();
    },
  };
}

const LONGEST_TIMER = 2 ** 31 - 1;
