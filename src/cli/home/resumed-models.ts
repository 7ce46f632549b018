import { programIn } from "../../models/catalog/model-name.ts";
import type { Situation } from "../../projections/index.ts";
import type { Settings } from "../../runtime/config/settings.ts";
import type { NewModels } from "../../runtime/model-change.ts";
import { programsOf } from "../../workers/outside/programs.ts";

interface Flags {
  model?: string;
  workerModel?: string;
}

/**
 * What the person asks for now overrides what the agent was created with. Flags are meant for this agent and are
 * refused if they do not fit. Variables are meant for all agents, so they apply only where they fit: no model leads in
 * place of a program, no program in place of a model, and a record of meshes has no model.
 */
export function resumedModels(
  { model, workerModel }: Flags,
  { env, config }: Settings,
  created: CreatedWith,
): NewModels {
  const programs = programsOf(config);
  const isProgram = (id: string) => programIn(id, (name) => Object.hasOwn(programs, name)) !== undefined;
  const fromEnvironment = (id: string | undefined) => (!id || created.meshes || isProgram(id) ? undefined : id);
  return {
    model: model ?? (isProgram(created.model) ? undefined : fromEnvironment(env.AGIRAPH_MODEL)),
    worker_model: workerModel ?? fromEnvironment(env.AGIRAPH_WORKER_MODEL),
  };
}

type CreatedWith = Pick<Situation["agent"]["created"], "model" | "meshes">;
