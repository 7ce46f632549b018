import type { Situation } from "../../projections/index.ts";
import type { Clock } from "../../protocol/clock.ts";
import { runDir } from "../../store/paths.ts";
import { writePlan } from "../../store/run/run-files.ts";

/** A board that is written in less time than this is not worth delaying. */
const SHORT_MS = 2;
const LONG_MS = 1000;
const REST = 50;

/**
 * `_plan.md` follows the board, with one write for all changes that come together. Writing takes longer the larger the
 * board is: after a write it pauses fifty times as long, so that a large board spends at most two percent of its time
 * on it.
 */
export class PlanFile {
  readonly #agentDir: string;
  readonly #now: () => Situation;
  readonly #clock: Pick<Clock, "now">;
  #due = false;
  #took = 0;

  constructor(agentDir: string, now: () => Situation, clock: Pick<Clock, "now">) {
    this.#agentDir = agentDir;
    this.#now = now;
    this.#clock = clock;
  }

  changed(): void {
    if (this.#due) return;
    this.#due = true;
    if (this.#took < SHORT_MS) setImmediate(() => this.write());
    else setTimeout(() => this.write(), this.#took * REST).unref();
  }

  /** What is there now, if it is not written yet. */
  write(): void {
    const run = this.#now().agent.run?.id;
    if (!this.#due || !run) return;
    this.#due = false;
    const began = this.#clock.now();
    try {
      writePlan(runDir(this.#agentDir, run), this.#now());
    } catch {
      // The disk is full or the folder is gone; the log has everything.
    }
    // A clock may jump; a plan is never worth more than this.
    this.#took = Math.min(this.#clock.now() - began, LONG_MS);
  }
}
