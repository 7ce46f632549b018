import { troubleWords } from "../projections/trouble.ts";
import type { FactType } from "../protocol/index.ts";
import { amount, milliseconds, money } from "./figures.ts";
import { modelChangeWords, spentOf } from "./phrases.ts";
import { by, details, type Sentences, thing } from "./sentence.ts";

type ModelFact = Extract<FactType, `model.${string}` | `goal.${string}` | `budget.${string}`>;

/** Models, the goal and the budget. */
export const MODELS: Sentences<ModelFact> = {
  "model.called": ({ worker_id, node_id, turn, model }, style) =>
    by(worker_id, style, `thinks, turn ${turn}`, { detail: details(node_id, model) }),
  "model.responded": ({ worker_id, node_id, turn, usage, cost_usd, ms, correction, estimated }, style) => {
    const about = estimated ? "about " : "";
    if (correction) {
      const more = (cost_usd ?? 0) < 0 ? "less" : "more";
      const does = `cost ${money(Math.abs(cost_usd ?? 0))} ${more} than was counted`;
      return by(worker_id, style, does, { detail: details(node_id) });
    }
    const used = usage.input + usage.output;
    return by(worker_id, style, used > 0 ? `replied, ${about}${amount(used)} tokens` : "replied", {
      detail: details(
        ...[node_id, `turn ${turn}`, `${amount(usage.input)} in`, `${amount(usage.output)} out`],
        ...[cost_usd === null ? "price unknown" : `${about}${money(cost_usd)}`, milliseconds(ms)],
      ),
    });
  },
  "model.failed": ({ worker_id, node_id, model, reason, message, retry_in_ms }, style) => {
    // Most providers' words begin with the model; on a phone, twice would leave no room for what is wrong.
    const whose = message.startsWith(model) ? "" : ` from ${model}`;
    return by(worker_id, style, `got no reply${whose}, ${troubleWords({ reason })}`, {
      text: message,
      isWhole: true,
      next: retry_in_ms === null ? "gave up" : `tries again in ${milliseconds(retry_in_ms)}`,
      detail: details(node_id, reason),
      tone: retry_in_ms === null ? "failed" : "warning",
    });
  },
  "model.warned": ({ worker_id, node_id, model, message }, style) =>
    by(worker_id, style, `got a warning from ${model}`, {
      text: message,
      isWhole: true,
      detail: details(node_id),
      tone: "warning",
    }),
  "model.set": (data) => thing("The agent", `now uses ${modelChangeWords(data)}`, { tone: "begins" }),
  "goal.set": ({ goal }) => thing("The goal", "was changed in GOAL.md", { text: goal, tone: "begins" }),
  "goal.refused": ({ why }) => thing("The goal", "stays as it was", { text: why, isWhole: true, tone: "warning" }),
  "budget.set": ({ budget_usd, budget_tokens }) =>
    thing("The budget", `is now ${limitWords(budget_usd, budget_tokens)}`),
  "budget.warned": (data) => thing("The budget", "is mostly spent", { text: spentOf(data), tone: "warning" }),
  "budget.exceeded": (data) =>
    thing("The budget", "is spent", { text: spentOf(data), next: "no more model calls", tone: "failed" }),
};

function limitWords(usd: number | null | undefined, tokens: number | undefined): string {
  const limits = [
    ...(usd === undefined ? [] : [usd === null ? "without a limit" : money(usd)]),
    ...(tokens === undefined ? [] : [`${amount(tokens)} tokens`]),
  ];
  return limits.join(", ");
}
