import type { Clock } from "../protocol/clock.ts";

/**
 * How long to sleep towards `due` (in seconds) before looking at the clock again. A long sleep is slept in naps: a
 * machine that was suspended, or a clock that was set, is noticed at the end of the nap and not at the end of the sleep.
 */
export async function nap(due: number | null, clock: Clock, signal: AbortSignal, longestMs = LONGEST_MS) {
  const left = due === null ? longestMs : due * 1000 - clock.now();
  // Rounded up: a timer that rings a fraction early would only ring again.
  await clock.sleep(Math.min(Math.max(Math.ceil(left), 0), longestMs), signal);
}

const LONGEST_MS = 60_000;
