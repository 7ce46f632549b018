import type { QueueName } from "../files/layout.ts";
import type { Queues } from "../files/queue.ts";
import { isEnd } from "./task-ends.ts";

/** Queues with tasks that may not have been answered: those of the mesh itself, or of an agent. */
export interface Answering {
  readonly queues: Queues;
  answerIfOwed(queue: QueueName, name: string): void;
}

/**
 * After a start: answers tasks that were moved to `complete` or `archive` while no process ran, or whose answers were
 * lost in a power failure. Tasks that ended before `state.json` was last written were answered then. There may be many,
 * so this runs in the background.
 */
export class OwedAnswers {
  readonly #all: () => Iterable<Answering>;
  readonly #isOpen: () => boolean;
  /** Milliseconds. Undefined once nothing is owed any more. */
  #since: number | undefined;
  #isLooking = false;

  constructor(all: () => Iterable<Answering>, isOpen: () => boolean) {
    this.#all = all;
    this.#isOpen = isOpen;
  }

  /** What came to its end since then (milliseconds) may not be answered yet. */
  owedSince(since: number): void {
    this.#since = since;
  }

  get areLeft(): boolean {
    return this.#since !== undefined;
  }

  /** True if there was something to do and all of it was done. Rejects if it has to be tried again. */
  async give(): Promise<boolean> {
    const since = this.#since;
    if (since === undefined || this.#isLooking) return false;
    this.#isLooking = true;
    try {
      for (const queue of ["complete", "archive"] as const) {
        for (const one of this.#all()) {
          for (const name of await one.queues.since(queue, since)) {
            if (isEnd(name)) continue;
            await new Promise(setImmediate);
            if (!this.#isOpen()) return false;
            one.answerIfOwed(queue, name);
          }
        }
      }
      this.#since = undefined;
      return true;
    } finally {
      this.#isLooking = false;
    }
  }
}
