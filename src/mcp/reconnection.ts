/** Opens a stream again; returns what takes that back. */
type Schedule = (reconnect: () => void, delayMs: number) => () => void;

const SHORTEST_MS = 1_000;
const LONGEST_MS = 30_000;

/**
 * When a stream that ended is opened again. The server names the delay, and may name none, or one that overflows a
 * timer: then a server that always ends its stream at once would be asked hundreds of times a second. So the first
 * time is as it wishes, and each one after that twice as long after the last, until it has been quiet for a minute.
 */
export function calmReconnection(): Schedule {
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
