import {
  ancestorsOf,
  holdersOf,
  mayNeverBegin,
  type NodeState,
  type Situation,
  sharesUnder,
  waitsForAny,
} from "../../projections/index.ts";
import type { FactOf, NodeId, Outcome } from "../../protocol/index.ts";

/** What one call took. A price that nobody knows is null. */
export interface Cost {
  usd: number | null;
  tokens: number;
}

type OutOfBudget = Extract<Outcome, { kind: "budget_exhausted" }>;

/** The budget of an agent, or the share of a node, is spent. */
export class BudgetExhausted extends Error {
  readonly outcome: OutOfBudget;
  /** Present when it is the whole agent's. */
  readonly exceeded: FactOf<"budget.exceeded">["data"] | undefined;
  constructor(outcome: OutOfBudget, exceeded?: FactOf<"budget.exceeded">["data"]) {
    super("The budget is spent.");
    this.outcome = outcome;
    this.exceeded = exceeded;
  }
}

interface Account {
  unit: "usd" | "tokens";
  /** The node whose share it is; null for the agent's own budget. */
  holder: NodeId | null;
  spent: number;
  underWay: number;
  unknownUnderWay: number;
  /** What the calls under way may cost. */
  setAside: number;
}

/** An account that a call is paid from, with what may be spent there and what is kept for others. */
interface Payer {
  account: Account;
  budget: number;
  /** Shares that were reserved from it, where the caller has none of its own. */
  shares: NodeState[];
  /** The caller's node and those above it. */
  callers: ReadonlySet<NodeId>;
}

/**
 * One purse for the whole team: the agent's money, its tokens, and the shares of nodes, each an account of its own.
 *
 * PURSE-1. A call begins only while every account it is paid from has room: what is spent, what the calls under way may
 *     cost and what is reserved for others leaves room for it. So no account is overdrawn by more than one call.
 * PURSE-2. A call is expected to cost what the dearest of its model has cost so far, even before a restart. Calls of a model that
 *     has not answered yet, whose price is therefore unknown, go one by one.
 * PURSE-3. A share is reserved: workers without a share never spend it, except for the one call of PURSE-1.
 * PURSE-4. A call that finds no room waits for the calls under way, and for the holders of shares, since what they leave
 *     comes back; but not for nodes that cannot begin before the waiting one has ended or decided, nor for held ones.
 *     When nothing can help, the budget is exhausted.
 */
export class Purse {
  readonly #now: () => Situation;
  readonly #accounts = new Map<string, Account>();
  readonly #dearest = { usd: new Map<string, number>(), tokens: new Map<string, number>() };
  #waiting: (() => void)[] = [];

  /** The situation with what is appended and not yet on disk. */
  constructor(now: () => Situation) {
    this.#now = now;
    for (const [model, { usd, tokens }] of Object.entries(now().spending.dearest)) {
      if (usd !== null) this.#dearest.usd.set(model, usd);
      this.#dearest.tokens.set(model, tokens);
    }
  }

  /** Resolves when the call may begin, with what to call when it has ended: its cost, or undefined when it failed. */
  async enter(
    model: string,
    node_id: NodeId | null,
    signal: AbortSignal,
    onWait: () => void,
  ): Promise<(cost: Cost | undefined) => void> {
    let payers = this.#payersFor(node_id);
    for (let waited = false; !payers.every((payer) => this.#hasRoom(payer, model)); waited = true) {
      const broke = payers.find((payer) => this.#isOver(payer));
      if (broke) throw this.#exhausted(broke);
      if (!waited) onWait();
      await this.#change(signal);
      payers = this.#payersFor(node_id);
    }
    const ends = payers.map(({ account }) => this.#begin(account, model));
    return (cost) => {
      for (const end of ends.splice(0)) end(cost);
      this.wake();
    };
  }

  /** Looks again, because something changed outside of the purse: a share has come back. */
  wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const look of waiting) look();
  }

  #payersFor(node_id: NodeId | null): Payer[] {
    const { board, agent, spending } = this.#now();
    const { budget_usd, budget_tokens } = agent.created;
    const caller = node_id ? board.nodes[node_id] : undefined;
    const callers = ancestorsOf(board, caller);
    const payers: Payer[] = [];
    const sharesOf = (holder: NodeState | undefined) =>
      payers.length === 0 && agent.run ? sharesUnder(board, agent.run.id, holder) : [];
    for (const node of holdersOf(board, caller)) {
      const account = this.#account("usd", node.id, node.spent_usd);
      payers.push({ account, budget: node.spec.budget_usd ?? 0, shares: sharesOf(node), callers });
    }
    if (budget_usd !== null) {
      const account = this.#account("usd", null, spending.total.cost_usd);
      payers.push({ account, budget: budget_usd, shares: sharesOf(undefined), callers });
    }
    if (budget_tokens !== undefined) {
      const account = this.#account("tokens", null, spending.total.usage.input + spending.total.usage.output);
      payers.push({ account, budget: budget_tokens, shares: [], callers });
    }
    return payers;
  }

  /** Counted here from the first call on: the fold learns of a reply only after it was paid. */
  #account(unit: Account["unit"], holder: NodeId | null, spent: number): Account {
    const key = `${unit} ${holder}`;
    const known = this.#accounts.get(key);
    if (known) return known;
    const account = { unit, holder, spent, underWay: 0, unknownUnderWay: 0, setAside: 0 };
    this.#accounts.set(key, account);
    return account;
  }

  #begin(account: Account, model: string): (cost: Cost | undefined) => void {
    const dearest = this.#dearest[account.unit];
    const unknown = dearest.has(model) ? 0 : 1;
    const estimate = this.#estimate(account, model);
    account.underWay += 1;
    account.unknownUnderWay += unknown;
    account.setAside += estimate;
    return (cost) => {
      account.underWay -= 1;
      account.unknownUnderWay -= unknown;
      account.setAside -= estimate;
      const amount = cost?.[account.unit] ?? null;
      account.spent += amount ?? 0;
      // A reply of unknown price tells nothing about the cost of the next one.
      if (amount !== null) dearest.set(model, Math.max(dearest.get(model) ?? 0, amount));
    };
  }

  #hasRoom({ account, budget, shares }: Payer, model: string): boolean {
    const { spent, underWay, unknownUnderWay, setAside } = account;
    if (spent + this.#reserved(shares) >= budget) return false;
    if (underWay === 0) return true;
    if (!this.#dearest[account.unit].has(model) && unknownUnderWay > 0) return false;
    const kept = this.#reserved(shares, "without what is set aside");
    return spent + setAside + kept + this.#estimate(account, model) <= budget;
  }

  #isOver({ account, budget, shares, callers }: Payer): boolean {
    if (account.spent >= budget) return true;
    const { board, agent } = this.#now();
    // After a stop no worker goes on before the coordinator has decided: until then they keep their shares.
    const comesBack = (share: NodeState) =>
      !agent.coordinator_decides &&
      (share.status !== "pending" || !(waitsForAny(share, callers, board) || mayNeverBegin(share, board)));
    return account.underWay === 0 && account.spent + this.#reserved(shares) >= budget && !shares.some(comesBack);
  }

  /** What the holders of shares have not spent yet. */
  #reserved(shares: readonly NodeState[], part?: "without what is set aside"): number {
    return shares.reduce((sum, { id, spec, spent_usd }) => {
      const account = this.#accounts.get(`usd ${id}`);
      const gone = (account?.spent ?? spent_usd) + (part ? (account?.setAside ?? 0) : 0);
      return sum + Math.max(0, (spec.budget_usd ?? 0) - gone);
    }, 0);
  }

  #estimate({ unit }: Account, model: string): number {
    return this.#dearest[unit].get(model) ?? Math.max(0, ...this.#dearest[unit].values());
  }

  #exhausted({ account, budget }: Payer): BudgetExhausted {
    const { unit, holder, spent } = account;
    if (unit === "tokens") {
      const spent_usd = this.#now().spending.total.cost_usd;
      const tokens = { spent_usd, spent_tokens: spent };
      return new BudgetExhausted({ kind: "budget_exhausted", ...tokens }, { ...tokens, budget_tokens: budget });
    }
    const outcome: OutOfBudget = { kind: "budget_exhausted", spent_usd: spent };
    return new BudgetExhausted(outcome, holder === null ? { spent_usd: spent, budget_usd: budget } : undefined);
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
