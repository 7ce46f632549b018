/** Schedules the reopening of a stream; returns a function that cancels it. */
type Reschedule = (reconnect: () => void, delayMs: number) => () => void;

const SHORTEST_MS = 1_000;
const LONGEST_MS = 30_000;

/**
 * When a stream that ended is reopened. The server chooses the delay, and may choose none, or one that overflows a
 * timer: a server that always ends its stream at once would then be contacted hundreds of times a second. So the first
 * delay is the server's, and each further one doubles, until the stream has been quiet for a minute.
 */
export function calmReconnection(): Reschedule {
  let [last, pause] = [Number.NEGATIVE_INFINITY, SHORTEST_MS];
  return (reconnect, delayMs) => {
    const now = performance.now();
    if (now - last > 2 * LONGEST_MS) pause = 0;
    const at = Math.max(now + Math.min(Math.max(delayMs, 0) || 0, LONGEST_MS), last + pause);
    pause = Math.min(Math.max(2 * pause, SHORTEST_MS), LONGEST_MS);
    last = at;
    const timer = setTimeout(reconnect, at - now).unref();
    return () => clearTimeout(timer);
  };
}
