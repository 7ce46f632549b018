import { apply, type Situation, withOwnKeys } from "../../projections/index.ts";
import type { Fact } from "../../protocol/index.ts";
import type { AgentLog } from "../../store/store.ts";
import { type PendingLog, pendingLog } from "./pending-log.ts";
import { RecentFacts } from "./recent-facts.ts";

/**
 * An agent's log with its two folds: `now` is what is on disk, `pending` includes what has been appended and is not on
 * disk yet. Decisions are based on `pending`, actions and messages follow `now`.
 */
export class LiveSituation {
  readonly log: PendingLog;
  readonly #recent = new RecentFacts();
  #now: Situation;
  #pending: Situation;

  /** `refused`: the disk refused what was appended, which was therefore never decided. */
  constructor(log: AgentLog, now: Situation, refused: (error: unknown) => void) {
    this.#now = now;
    this.#pending = copyOf(now);
    const forget = (error: unknown) => {
      this.#pending = copyOf(this.#now);
      refused(error);
    };
    this.log = pendingLog(log, { hear: (fact) => apply(this.#pending, fact), refused: forget }, this.#recent);
  }

  readonly now = (): Situation => this.#now;
  readonly pending = (): Situation => this.#pending;

  /** A fact is on disk. */
  hear(fact: Fact): void {
    apply(this.#now, fact);
    this.#recent.add(fact);
  }

  /** Nobody works any more who would ask for the newest facts. */
  forgetRecent(): void {
    this.#recent.clear();
  }
}

function copyOf(situation: Situation): Situation {
  return withOwnKeys(structuredClone(situation));
}
