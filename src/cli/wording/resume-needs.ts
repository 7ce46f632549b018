import type { Situation } from "../../projections/index.ts";

/** What `resume` needs in order to continue: more money or tokens, or a model other than the demo; usually nothing. */
export function raisingWords({ agent: { outcome, created }, spending }: Situation): string {
  // The demo refuses the same thing every time.
  if (created.model.startsWith("demo/")) return " --model PROVIDER/MODEL";
  if (outcome?.kind !== "budget_exhausted") return "";
  return outcome.spent_tokens
    ? ` --budget-tokens N (in all: more than ${outcome.spent_tokens})`
    : ` --budget USD (in all: more than ${exactly(spending.total.cost_usd)})`;
}

/** Rounded, it could be a budget that is refused. */
function exactly(cost_usd: number): string {
  return `$${Math.ceil(cost_usd * 10_000) / 10_000}`;
}
