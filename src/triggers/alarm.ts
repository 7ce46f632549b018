import type { Clock } from "../protocol/clock.ts";

/** How long a wrong clock may go unnoticed. */
export const LONGEST_NAP_MS = 60_000;

/**
 * Sleeps towards `due` (in seconds), but at most for a nap; then the caller checks the clock again. So a suspended
 * machine, or a clock that was set, is noticed after a nap and not after the whole sleep, and no timer is ever too
 * long.
 */
export async function nap(due: number, clock: Clock, signal: AbortSignal, longestMs = LONGEST_NAP_MS): Promise<void> {
  // Rounded up: a timer that rings a fraction of a millisecond early would only ring again.
  const left = Math.ceil(due * 1000 - clock.now());
  await clock.sleep(Math.min(Math.max(left, 0), longestMs), signal);
}
