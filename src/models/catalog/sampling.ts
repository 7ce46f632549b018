import { own } from "../../protocol/dict.ts";
import type { ModelConfig, ModelSettings } from "./model-config.ts";
import type { ModelSource } from "./model-name.ts";

/** The sampling settings of config.json, for the provider and for the model itself; those of the model win. */
export function samplingOf(source: ModelSource, config: ModelConfig): ModelSettings {
  const provider = own(config.providers, providerOf(source)) ?? {};
  const { native_tools, temperature, max_output_tokens, reasoning_effort } = {
    ...provider,
    ...own(config.models, source.id),
  };
  return { native_tools, temperature, max_output_tokens, reasoning_effort };
}

/** What a provider's refusal calls each setting. */
const WIRE_NAMES: readonly [keyof ModelSettings, RegExp][] = [
  ["temperature", /temperature/i],
  ["max_output_tokens", /max_?(?:output_?|completion_?)?tokens|maxOutputTokens/i],
  ["reasoning_effort", /reasoning|effort|thinking/i],
];

/**
 * The setting that a provider refused, in words for the person who can remove it; undefined if it is not one of ours.
 */
export function refusedSetting(said: string, source: ModelSource, config: ModelConfig): string | undefined {
  const settings = samplingOf(source, config);
  const found = WIRE_NAMES.find(([name, form]) => settings[name] !== undefined && form.test(said));
  if (found === undefined) return undefined;
  const [name] = found;
  const isOfModel = own(config.models, source.id)?.[name] !== undefined;
  const where = isOfModel ? `models["${source.id}"]` : `providers.${providerOf(source)}`;
  return `Remove or change ${where}.${name} in config.json.`;
}

function providerOf(source: ModelSource): string {
  if (source.kind === "provider") return source.provider.name;
  return source.kind === "server" ? source.server : "";
}
