import type { Fact } from "../../protocol/index.ts";
import type { AgentLog } from "../store.ts";

const PAGE = 512;
/** A follower that falls further behind reads from the file again, so that a slow one costs no memory. */
const MOST_WAITING = 4 * PAGE;

/** First history, then live (STORE-3): the switch happens only when there is no gap between the two. */
export async function* followFacts(
  log: Pick<AgentLog, "read" | "subscribe">,
  durableSeq: () => number,
  after: number,
  signal: AbortSignal,
  watch: ((onChange: () => void) => () => void) | undefined,
): AsyncGenerator<Fact> {
  let live: Fact[] | undefined;
  let wake = () => {};
  const unsubscribe = log.subscribe((fact) => {
    if (live !== undefined && live.push(fact) > MOST_WAITING) live = undefined;
    wake();
  });
  const unwatch = watch?.(() => {
    live = undefined;
    wake();
  });
  const onAbort = () => wake();
  signal.addEventListener("abort", onAbort);
  try {
    let cursor = after;
    while (!signal.aborted) {
      if (live === undefined) {
        const end = durableSeq();
        const page = await log.read({ after: cursor, limit: PAGE });
        for (const fact of page) {
          if (signal.aborted) return;
          cursor = fact.seq;
          yield fact;
        }
        if (page.length < PAGE && durableSeq() === end) {
          cursor = Math.max(cursor, end);
          live = [];
        }
        continue;
      }
      if (live.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      for (const fact of live.splice(0)) {
        if (signal.aborted) return;
        if (fact.seq <= cursor) continue;
        cursor = fact.seq;
        yield fact;
      }
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    unsubscribe();
    unwatch?.();
  }
}
