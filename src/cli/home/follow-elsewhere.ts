import type { DeltaFrame } from "../../protocol/api/events.ts";
import type { Fact } from "../../protocol/index.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import type { AgentLog } from "../../store/store.ts";
import { liveHolder } from "./live-holder.ts";
import { otherProcess } from "./other-process.ts";

const LOOK_MS = 500;

interface Hearer {
  /** The last fact that is known; the next one follows it. */
  after(): number;
  fact(fact: Fact): void;
  delta(delta: DeltaFrame): void;
  /** The connection is lost: what is said until there is another one is not heard. */
  lost(): void;
}

/**
 * Follows an agent for a long time: over the event socket of whichever other process has the home, with words as they
 * are streamed; from the log file while no process has it or the one that does is unreachable.
 *
 * At the moment of a change a fact may arrive both ways; its number shows that it is a duplicate.
 */
export async function followElsewhere(
  settings: Settings,
  log: AgentLog,
  hearer: Hearer,
  signal: AbortSignal,
): Promise<void> {
  /** The process that refused, as one of another version does. */
  let refused: number | undefined;
  const other = () => {
    const holder = liveHolder(settings.home);
    return holder && holder.pid !== process.pid && holder.url !== undefined && holder.pid !== refused;
  };
  while (!signal.aborted) {
    const found = other() ? await otherProcess(settings).catch(() => undefined) : undefined;
    if (found) {
      await found.client.follow(log.id, hearer.after(), hearer, signal).catch(() => {
        refused = found.holder.pid;
      });
      hearer.lost();
    }
    const turn = new AbortController();
    const looking = setInterval(() => other() && turn.abort(), LOOK_MS);
    try {
      for await (const fact of log.follow(hearer.after(), AbortSignal.any([signal, turn.signal]))) hearer.fact(fact);
    } finally {
      clearInterval(looking);
    }
  }
}
