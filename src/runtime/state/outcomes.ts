import type { Outcome } from "../../protocol/index.ts";
import { StoreError } from "../../store/errors.ts";
import { BudgetExhausted } from "../../workers/loop/purse.ts";

/** Any other error of a worker is that worker's failure. Only a log that cannot be written concerns everybody. */
export function asOutcome(signal: AbortSignal): (error: unknown) => Outcome {
  return (error) => {
    if (error instanceof StoreError) throw error;
    if (signal.aborted && signal.reason instanceof BudgetExhausted) return signal.reason.outcome;
    if (signal.aborted) return { kind: "stopped" };
    return { kind: "failed", error: error instanceof Error ? error.message : String(error) };
  };
}

export function explain(outcome: Outcome): string {
  switch (outcome.kind) {
    case "exhausted":
      return `All ${outcome.turns} turns were used without finishing.`;
    case "budget_exhausted":
      return outcome.spent_tokens === undefined
        ? `The budget is spent ($${outcome.spent_usd.toFixed(4)}).`
        : `The budget of tokens is spent (${outcome.spent_tokens.toLocaleString("en-US")} tokens).`;
    case "failed":
    case "abandoned":
      return outcome.error;
    default:
      return outcome.kind;
  }
}
