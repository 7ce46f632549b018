import type { Situation } from "../projections/index.ts";
import type { FactOf } from "../protocol/index.ts";
import type { AgentServices } from "./agent-services.ts";
import { HumanRefusal } from "./human/human-refusal.ts";

export interface NewModels {
  model?: string | undefined;
  worker_model?: string | undefined;
}

/**
 * Changes the models of an existing agent, with the same checks as for a new one; nothing if they are the same. Workers
 * that use the agent's model change with it.
 */
export async function modelChange(
  { agent }: Situation,
  order: NewModels,
  {
    checkModel,
    programFor,
    model: open,
    checkPrices,
  }: Pick<AgentServices, "checkModel" | "programFor" | "model" | "checkPrices">,
): Promise<FactOf<"model.set">["data"] | undefined> {
  const { name, model: before, worker_model: workersBefore, budget_usd } = agent.created;
  const model = order.model ?? before;
  const worker_model = order.worker_model ?? (workersBefore === before ? model : workersBefore);
  if (model === before && worker_model === workersBefore) return undefined;
  const changed = [
    ...(model === before ? [] : [before, model]),
    ...(worker_model === workersBefore ? [] : [worker_model]),
  ];
  const program = changed.find((id) => programFor(id) !== undefined);
  if (program !== undefined)
    throw new HumanRefusal(
      "conflict",
      `${program} is a program, and ${name} can only go from one model to another. Start another agent: agiraph run --model`,
    );
  for (const id of new Set([model, worker_model])) {
    checkModel(id);
    // A program that leads stays, and cannot be opened as a model.
    if (programFor(id) === undefined) await open(id);
  }
  if (budget_usd !== null) await checkPrices(model, worker_model);
  return { model, worker_model, was: { model: before, worker_model: workersBefore } };
}
