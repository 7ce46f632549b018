import type { Cost } from "../loop/purse.ts";
import { type ActingWorker, enterPurse, type Recorder } from "../loop/recorded-loop.ts";

/**
 * What a program may spend. It cannot be kept from its next model call, only be stopped: so the purse is asked for the
 * next call as soon as one is over, and if it refuses, `onSpent` is called, once.
 */
export class ProgramBudget {
  readonly #model: string;
  readonly #self: ActingWorker;
  readonly #recorder: Recorder;
  readonly #signal: AbortSignal;
  readonly #onSpent: (error: unknown) => void;
  #pay: ((cost: Cost | undefined) => void) | undefined;
  #asking: Promise<void> | undefined;
  /** What was spent while the purse was asked. */
  #owed: Cost[] = [];
  /** In dollars, since its turn began. */
  #inTurn = 0;

  constructor(
    model: string,
    self: ActingWorker,
    recorder: Recorder,
    signal: AbortSignal,
    onSpent: (error: unknown) => void,
  ) {
    this.#model = model;
    this.#self = self;
    this.#recorder = recorder;
    this.#signal = signal;
    this.#onSpent = onSpent;
  }

  /** Before it is spoken to. Rejects when there is no money left. */
  async begin(): Promise<void> {
    await this.#asking;
    if (!this.#pay) await this.#enter();
  }

  /** A model call of its own is over. */
  spent(cost: Cost): void {
    this.#inTurn += cost.usd ?? 0;
    if (!this.#pay) {
      this.#owed.push(cost);
      return;
    }
    this.#leavePurse(cost);
    this.#asking = this.#enter()
      .catch((error: unknown) => this.#onSpent(error))
      .finally(() => (this.#asking = undefined));
  }

  /** A program may know better than we do what its turn has cost. Returns the correction, and pays it. */
  turnCost(usd: number | undefined): number {
    const rest = usd === undefined ? 0 : usd - this.#inTurn;
    if (Math.abs(rest) >= 1e-9) this.spent({ usd: rest, tokens: 0 });
    this.#inTurn = 0;
    return Math.abs(rest) < 1e-9 ? 0 : rest;
  }

  /** Its turn is over: it spends nothing until it is spoken to again. */
  async rest(): Promise<void> {
    await this.#asking;
    this.#leavePurse(undefined);
  }

  async #enter(): Promise<void> {
    do {
      this.#pay = await enterPurse(this.#model, this.#self, this.#recorder, this.#signal);
      const owed = this.#owed.shift();
      if (!owed) return;
      this.#leavePurse(owed);
    } while (!this.#signal.aborted);
  }

  #leavePurse(cost: Cost | undefined): void {
    this.#pay?.(cost);
    this.#pay = undefined;
  }
}
