import type { Situation } from "../projections/index.ts";
import { costOf } from "./format.ts";

/** What `resume` needs to go on with an agent whose money or tokens are spent; nothing for any other. */
export function raisingWords({ agent: { outcome }, spending }: Situation): string {
  if (outcome?.kind !== "budget_exhausted") return "";
  return outcome.spent_tokens
    ? ` --budget-tokens N (in all: more than ${outcome.spent_tokens})`
    : ` --budget USD (in all: more than ${costOf(spending.total)})`;
}
