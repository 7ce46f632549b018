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
 * P2. A call may cost what the dearest so far has cost. Before the first has an answer, calls go one by one.
 * P3. Who finds no room waits for the calls under way; when nobody is under way and the budget is spent, it is over.
 */
export class Purse {
  readonly #budget: number;
  #spent: number;
  #underWay = 0;
  #dearest = 0;
  #settled = 0;
  #waiting: (() => void)[] = [];

  constructor(budget: number, spent: number) {
    this.#budget = budget;
    this.#spent = spent;
  }

  get spent(): number {
    return this.#spent;
  }

  /** Resolves when the call may begin, with what to call when it has ended. */
  async enter(signal: AbortSignal, onWait: () => void): Promise<(cost: number | null) => void> {
    for (let waited = false; !this.#hasRoom(); waited = true) {
      if (this.#spent >= this.#budget) throw new BudgetExhausted(this.#spent, this.#budget);
      if (!waited) onWait();
      await this.#change(signal);
    }
    this.#underWay += 1;
    let open = true;
    return (cost) => {
      if (!open) return;
      open = false;
      this.#underWay -= 1;
      this.#settled += 1;
      this.#spent += cost ?? 0;
      this.#dearest = Math.max(this.#dearest, cost ?? 0);
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const wake of waiting) wake();
    };
  }

  #hasRoom(): boolean {
    if (this.#spent >= this.#budget) return false;
    if (this.#underWay === 0) return true;
    return this.#settled > 0 && this.#spent + (this.#underWay + 1) * this.#dearest <= this.#budget;
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
