/** The budget of an agent is spent. */
export class BudgetExhausted extends Error {
  readonly spent: number;
  constructor(spent: number, budget: number) {
    super(`The budget of $${budget} is spent ($${spent.toFixed(4)}).`);
    this.spent = spent;
  }
}

/**
 * One purse for the whole team.
 *
 * P1. A call begins only while what is spent and what the calls under way may cost leaves room for it; so the team
 *     never spends more than the budget and one call.
 * P2. A call may cost what the dearest of its model has cost so far. Calls of a model that has not answered yet, whose
 *     price is therefore unknown, go one by one.
 * P3. Who finds no room waits for the calls under way; when nobody is under way and the budget is spent, it is over.
 */
export class Purse {
  readonly #budget: number;
  readonly #dearest = new Map<string, number>();
  #spent: number;
  #underWay = 0;
  #unknownUnderWay = 0;
  /** What the calls under way may cost. */
  #setAside = 0;
  #waiting: (() => void)[] = [];

  constructor(budget: number, spent: number) {
    this.#budget = budget;
    this.#spent = spent;
  }

  get spent(): number {
    return this.#spent;
  }

  /** Resolves when the call may begin, with what to call when it has ended: its cost, or undefined when it failed. */
  async enter(
    model: string,
    signal: AbortSignal,
    onWait: () => void,
  ): Promise<(cost: number | null | undefined) => void> {
    for (let waited = false; !this.#hasRoom(model); waited = true) {
      if (this.#spent >= this.#budget) throw new BudgetExhausted(this.#spent, this.#budget);
      if (!waited) onWait();
      await this.#change(signal);
    }
    const unknown = this.#dearest.has(model) ? 0 : 1;
    const estimate = this.#estimate(model);
    this.#underWay += 1;
    this.#unknownUnderWay += unknown;
    this.#setAside += estimate;
    let open = true;
    return (cost) => {
      if (!open) return;
      open = false;
      this.#underWay -= 1;
      this.#unknownUnderWay -= unknown;
      this.#setAside -= estimate;
      this.#spent += cost ?? 0;
      // A reply whose price nobody knows tells nothing of what the next one costs.
      if (typeof cost === "number") this.#dearest.set(model, Math.max(this.#dearest.get(model) ?? 0, cost));
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const wake of waiting) wake();
    };
  }

  #hasRoom(model: string): boolean {
    if (this.#spent >= this.#budget) return false;
    if (this.#underWay === 0) return true;
    if (!this.#dearest.has(model) && this.#unknownUnderWay > 0) return false;
    return this.#spent + this.#setAside + this.#estimate(model) <= this.#budget;
  }

  #estimate(model: string): number {
    return this.#dearest.get(model) ?? Math.max(0, ...this.#dearest.values());
  }

  async #change(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    this.#waiting.push(resolve);
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }
}
