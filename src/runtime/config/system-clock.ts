import type { Clock } from "../../protocol/clock.ts";

/**
 * CLOCK-1. A sleep never ends early: a Node timer beyond 2³¹ ms would fire at once, so long sleeps are split.
 * CLOCK-2. A sleep that ended, either way, leaves neither timer nor listener behind.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal) {
    let left = ms;
    do {
      await nap(Math.min(left, LONGEST_TIMER), signal);
      left -= LONGEST_TIMER;
    } while (left > 0);
  },
};

const LONGEST_TIMER = 2 ** 31 - 1;

function nap(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    signal.addEventListener("abort", stop, { once: true });
  });
}
