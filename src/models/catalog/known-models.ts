/**
 * The models that we know by name (November 2026): their context windows, and whether the provider searches the web for
 * them. New models appear all the time, so an unknown name is not an error; a near miss of a known one is.
 */
export interface KnownModel {
  /** `provider/model`. */
  readonly id: string;
  readonly contextWindow: number;
  readonly searchesWeb: boolean;
}

const MILLION = 1_000_000;

export const KNOWN_MODELS: readonly KnownModel[] = [
  ...family("anthropic", MILLION, true, [
    "claude-sonnet-5-5",
    "claude-sonnet-5",
    "claude-opus-5-5",
    "claude-opus-5",
    "claude-haiku-5-5",
    "claude-fable-5-2",
    "claude-fable-5-1",
    "claude-fable-5",
    "claude-opus-4-8",
    "claude-opus-4-7",
    "claude-opus-4-6",
    "claude-sonnet-4-6",
  ]),
  ...family("anthropic", 200_000, true, [
    "claude-opus-4-5",
    "claude-sonnet-4-5",
    "claude-haiku-4-5",
    "claude-opus-4-1",
  ]),
  ...family("openai", 1_050_000, true, [
    "gpt-6.1-sol",
    "gpt-6.1-terra",
    "gpt-6-astra",
    "gpt-6-sol",
    "gpt-6-luna",
    "gpt-5.6",
    "gpt-5.6-sol",
    "gpt-5.6-terra",
    "gpt-5.6-luna",
    "gpt-5.4",
    "gpt-5.4-pro",
  ]),
  ...family("openai", MILLION, true, ["gpt-5.5", "gpt-4.1", "gpt-4.1-mini"]),
  ...family("openai", 400_000, true, [
    "gpt-5.4-mini",
    "gpt-5.4-nano",
    "gpt-5.2",
    "gpt-5.1",
    "gpt-5",
    "gpt-5-mini",
    "gpt-5-nano",
  ]),
  ...family("openai", 200_000, true, ["o3", "o4-mini"]),
  ...family("openai", 128_000, true, ["gpt-4o", "gpt-4o-mini"]),
  ...family("google", 1_048_576, true, [
    "gemini-4-carbon",
    "gemini-4-argon",
    "gemini-3.8-flash",
    "gemini-3.7-flash",
    "gemini-3.6-flash",
    "gemini-3.5-flash",
    "gemini-3.5-flash-lite",
    "gemini-3.1-pro-preview",
    "gemini-3-pro-preview",
    "gemini-3-flash-preview",
  ]),
  // Beside functions their search makes the API drop the functions, without a word.
  ...family("google", 1_048_576, false, ["gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite"]),
  ...family("openrouter", MILLION, false, [
    "anthropic/claude-sonnet-5",
    "anthropic/claude-opus-5",
    "anthropic/claude-sonnet-4.6",
    "openai/gpt-5.5",
    "openai/gpt-5.4",
    "google/gemini-3.5-flash",
  ]),
  ...family("openrouter", 200_000, false, ["anthropic/claude-sonnet-4.5", "anthropic/claude-haiku-4.5"]),
  ...family("openrouter", 128_000, false, ["deepseek/deepseek-v3.2", "qwen/qwen3-coder", "moonshotai/kimi-k2.5"]),
];

/** The model of each provider that is used when nobody chose one: capable, and with a known price. */
export const DEFAULT_MODELS: Readonly<Record<string, string>> = {
  anthropic: "anthropic/claude-sonnet-5",
  openai: "openai/gpt-6-sol",
  google: "google/gemini-3.8-flash",
  openrouter: "openrouter/anthropic/claude-sonnet-5",
};

/** For unknown names: small enough for any model on which one would run an agent. */
export const UNKNOWN_WINDOWS: Readonly<Record<string, number>> = {
  anthropic: 200_000,
  openai: 128_000,
  google: 1_048_576,
  openrouter: 128_000,
};
export const UNKNOWN_WINDOW = 32_768;

const byId = new Map(KNOWN_MODELS.map((model) => [model.id, model]));

/** A dated name (`claude-sonnet-4-5-20250929`) means the model without the date. */
export function knownModel(id: string): KnownModel | undefined {
  return byId.get(id) ?? byId.get(id.replace(/-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$/, ""));
}

/** Whether a model of this provider, known or not, searches the web by itself. */
export function searchesWeb(provider: string, model: string): boolean {
  const known = knownModel(`${provider}/${model}`);
  if (known !== undefined) return known.searchesWeb;
  if (provider === "google") return /^gemini-/.test(model) && !/^gemini-(1|2)([.-]|$)/.test(model);
  return provider === "anthropic" || provider === "openai";
}

/**
 * Whether a model of this provider, known or not, can be shown pictures. All models of these three providers have been
 * able to for years; for others, and for models behind one's own server, it is unknown.
 */
export function seesPictures(provider: string, model: string): boolean {
  if (provider === "openrouter") {
    const [maker = "", name = ""] = model.split("/");
    return seesPictures(maker, name);
  }
  if (provider === "openai") return !/^(gpt-3|o[13]-mini|o1-preview)/.test(model);
  return provider === "anthropic" || (provider === "google" && !/^gemma-[12]/.test(model));
}

function family(provider: string, contextWindow: number, searchesWeb: boolean, names: readonly string[]): KnownModel[] {
  return names.map((name) => ({ id: `${provider}/${name}`, contextWindow, searchesWeb }));
}
