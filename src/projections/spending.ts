import { dict } from "../protocol/dict.ts";
import type { Fact, FactOf, Usage, WorkerId } from "../protocol/index.ts";
import { NO_USAGE, usagePlus } from "../protocol/usage.ts";

export interface Tally {
  calls: number;
  failures: number;
  usage: Usage;
  cost_usd: number;
  /** Calls whose price nobody knows; they are not in `cost_usd`. */
  unpriced_calls: number;
  /** Calls of which only an estimate is known; they are in all the figures. */
  estimated_calls?: number;
}

/** What was spent, in total and by worker. */
export interface Spending {
  total: Tally;
  by_worker: Record<WorkerId, Tally>;
  /** The most that one call of a model took: what the next may take, also after a restart. */
  dearest: Record<string, { usd: number | null; tokens: number }>;
  warned: boolean;
}

export function emptySpending(): Spending {
  return { total: emptyTally(), by_worker: dict(), dearest: dict(), warned: false };
}

export function applyToSpending(spending: Spending, fact: Fact): void {
  if (fact.type === "budget.warned") spending.warned = true;
  if (fact.type === "budget.set") spending.warned = false;
  if (fact.type !== "model.responded" && fact.type !== "model.failed") return;
  const { worker_id } = fact.data;
  const own = spending.by_worker[worker_id] ?? emptyTally();
  spending.by_worker[worker_id] = own;
  const corrected = fact.type === "model.responded" && fact.data.usage_correction ? (own.estimated_calls ?? 0) : 0;
  for (const tally of [spending.total, own]) {
    if (fact.type === "model.failed") tally.failures += 1;
    else if (fact.data.correction) correct(tally, fact.data, corrected);
    else count(tally, fact.data);
  }
  if (fact.type === "model.responded" && !fact.data.correction) noteDearest(spending, fact.data);
}

function noteDearest({ dearest }: Spending, { model, usage, cost_usd }: FactOf<"model.responded">["data"]): void {
  const { usd, tokens } = dearest[model] ?? { usd: null, tokens: 0 };
  dearest[model] = {
    // A reply whose price nobody knows tells nothing of what the next one costs.
    usd: cost_usd === null ? usd : Math.max(usd ?? 0, cost_usd),
    tokens: Math.max(tokens, usage.input + usage.output),
  };
}

function count(tally: Tally, { usage, cost_usd, estimated }: FactOf<"model.responded">["data"]): void {
  tally.calls += 1;
  tally.usage = usagePlus(tally.usage, usage);
  if (estimated) tally.estimated_calls = (tally.estimated_calls ?? 0) + 1;
  if (cost_usd === null) tally.unpriced_calls += 1;
  else tally.cost_usd += cost_usd;
}

function correct(tally: Tally, data: FactOf<"model.responded">["data"], corrected: number): void {
  tally.cost_usd += data.cost_usd ?? 0;
  if (!data.usage_correction) return;
  tally.usage = usagePlus(tally.usage, data.usage_correction);
  const left = (tally.estimated_calls ?? 0) - corrected;
  if (left > 0) tally.estimated_calls = left;
  else delete tally.estimated_calls;
}

function emptyTally(): Tally {
  return { calls: 0, failures: 0, usage: { ...NO_USAGE }, cost_usd: 0, unpriced_calls: 0 };
}
