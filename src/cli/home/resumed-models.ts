import type { Situation } from "../../projections/index.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import type { NewModels } from "../../runtime/model-change.ts";
import { isOutsideModel } from "../../workers/outside/programs.ts";

interface Flags {
  model?: string;
  workerModel?: string;
}

/**
 * What the person asks for now goes before what the agent was made with. Flags are meant for this agent and are refused
 * where they cannot be; variables are meant for all, so they apply where they can: no model leads in place of a program,
 * nor a program in place of a model, and the record of meshes thinks nothing.
 */
export function resumedModels({ model, workerModel }: Flags, { env }: Settings, created: Created): NewModels {
  return {
    model: model ?? (isOutsideModel(created.model) ? undefined : fromEnvironment(env.AGIRAPH_MODEL, created)),
    worker_model: workerModel ?? fromEnvironment(env.AGIRAPH_WORKER_MODEL, created),
  };
}

type Created = Pick<Situation["agent"]["created"], "model" | "meshes">;

function fromEnvironment(model: string | undefined, { meshes }: Created): string | undefined {
  return !model || meshes || isOutsideModel(model) ? undefined : model;
}
