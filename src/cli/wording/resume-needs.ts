import type { Situation } from "../../projections/index.ts";
import { costOf } from "./format.ts";

/** What `resume` needs in order to continue: more money or tokens, or a model other than the demo; usually nothing. */
export function raisingWords({ agent: { outcome, created }, spending }: Situation): string {
  // The demo refuses the same thing every time.
  if (created.model.startsWith("demo/")) return " --model PROVIDER/MODEL";
  if (outcome?.kind !== "budget_exhausted") return "";
  return outcome.spent_tokens
    ? ` --budget-tokens N (in all: more than ${outcome.spent_tokens})`
    : ` --budget USD (in all: more than ${costOf(spending.total)})`;
}
