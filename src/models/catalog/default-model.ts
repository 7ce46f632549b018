import { keyState } from "./key.ts";
import { DEFAULT_MODELS } from "./known-models.ts";
import type { ModelConfig } from "./model-config.ts";
import { PROVIDERS } from "./providers.ts";

export interface ChosenModel {
  model: string;
  /** For people: the reason, as the end of "Using MODEL: …". */
  why: string;
}

export interface DefaultModelPorts {
  env: Readonly<Record<string, string | undefined>>;
  config: ModelConfig;
  /** The models that a local Ollama has; empty when none answers. */
  ollamaModels(): Promise<readonly string[]>;
  /** Whether Claude Code is installed. */
  hasClaude: boolean;
}

export const DEMO_MODEL = "demo/surveyor";

/** Which model to use if no flag names one, in the order that the contract promises. */
export async function chooseDefaultModel(ports: DefaultModelPorts): Promise<ChosenModel> {
  const { env, config } = ports;
  if (env.AGIRAPH_MODEL) return { model: env.AGIRAPH_MODEL, why: "set by AGIRAPH_MODEL" };
  if (config.model) return { model: config.model, why: "set in config.json" };
  for (const { name, keyVariable } of PROVIDERS) {
    const model = DEFAULT_MODELS[name];
    const key = keyVariable === null ? "missing" : keyState(env[keyVariable]);
    // A variable that is set is meant to be used: a malformed key is reported, not skipped.
    if (model !== undefined && key !== "missing")
      return { model, why: `${keyVariable} is set${key === "malformed" ? ", but malformed" : ""}` };
  }
  if (ports.hasClaude) {
    return { model: "claude-code/sonnet", why: "no key is set, and claude is installed" };
  }
  const [local] = await ports.ollamaModels();
  if (local !== undefined) return { model: `ollama/${local}`, why: "no key is set, and a local Ollama has this model" };
  const keys = PROVIDERS.map(({ keyVariable }) => keyVariable).filter((variable) => variable !== null);
  return {
    model: DEMO_MODEL,
    why: `the demo, not a language model: none of ${keys.join(", ")} is set, and no local model answers`,
  };
}
