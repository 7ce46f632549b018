import type { Fact } from "../../protocol/index.ts";

/** Enough for a team of hundreds that starts together; less than a megabyte. */
const KEPT = 1000;

/**
 * The newest facts of a working agent, in memory. A worker that starts asks for the facts since its assignment; without
 * this, a team that starts together would read and check the same lines of the log once for every worker.
 */
export class RecentFacts {
  #facts: Fact[] = [];

  add(fact: Fact): void {
    const last = this.#facts.at(-1);
    // A hole in the numbers is where the log was damaged: what is before it is not told from here.
    if (last && last.seq + 1 !== fact.seq) this.#facts = [];
    this.#facts.push(fact);
    if (this.#facts.length >= 2 * KEPT) this.#facts = this.#facts.slice(-KEPT);
  }

  /** As `AgentLog.read`, or undefined when they do not reach back that far. */
  read({ after, limit }: { after: number; limit: number }): Fact[] | undefined {
    const first = this.#facts[0];
    if (!first || after + 1 < first.seq) return undefined;
    const from = after + 1 - first.seq;
    return this.#facts.slice(from, from + Math.max(0, limit));
  }

  clear(): void {
    this.#facts = [];
  }
}
