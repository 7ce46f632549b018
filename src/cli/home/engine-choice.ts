import type { Settings } from "../../runtime/config/settings.ts";

/** Which engine to work from, and as whom. */
export interface EngineChoice {
  engine?: string;
  schema?: string;
  hostName?: string;
}

/** The address of the engine that was named: by an option, the environment or config.json, in this order. */
export function engineOf(
  { env, config }: Pick<Settings, "env" | "config">,
  { engine }: Pick<EngineChoice, "engine">,
): string | undefined {
  return engine ?? (env.AGIRAPH_ENGINE || config.engine);
}
