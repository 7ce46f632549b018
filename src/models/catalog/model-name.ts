import { nearest } from "../../boundary/nearest.ts";
import { own } from "../../protocol/dict.ts";
import { DEMO_MODEL } from "./default-model.ts";
import { keyState } from "./key.ts";
import {
  KNOWN_MODELS,
  knownModel,
  searchesWeb,
  seesPictures,
  UNKNOWN_WINDOW,
  UNKNOWN_WINDOWS,
} from "./known-models.ts";
import type { ModelConfig, ModelServerConfig } from "./model-config.ts";
import { type ModelProvider, offeredModel } from "./model-provider.ts";
import { PROVIDERS, type Provider, providerNamed } from "./providers.ts";

/** What a model's name refers to. `id` is the full name, with aliases replaced. */
export type ModelSource =
  | { kind: "provider"; id: string; provider: Provider; model: string }
  | { kind: "added"; id: string; provider: ModelProvider; model: string }
  | { kind: "server"; id: string; server: string; settings: ModelServerConfig; model: string }
  | { kind: "outside"; id: string }
  | { kind: "demo"; id: string };

type Env = Readonly<Record<string, string | undefined>>;

/** The programs that everybody may have, by name; config.json may name others. */
export const PROGRAMS: readonly string[] = ["claude-code", "codex", "gemini", "opencode"];
const PROVIDERS_ALONE = [...PROVIDERS.map(({ name }) => name), "gemini", "openai-compatible", "demo"];
/** All prefixes that are taken. */
export const PROVIDER_NAMES: readonly string[] = [...new Set([...PROVIDERS_ALONE, ...PROGRAMS])];
/** The models of Claude Code, by names that stay. */
const CLAUDE_MODELS = ["claude-code/opus", "claude-code/sonnet", "claude-code/haiku"];

/**
 * The program that is named in place of a model: `codex`, or with its model `codex/gpt-5.5`. Before a slash, the name of a
 * provider means the provider: `gemini/…` is a model of Google, `gemini` the program.
 */
export function programIn(written: string, isProgram: (name: string) => boolean): string | undefined {
  if (isProgram(written)) return written;
  const name = written.slice(0, Math.max(0, written.indexOf("/")));
  return isProgram(name) && !PROVIDERS_ALONE.includes(name) ? name : undefined;
}

/** The names that a list of models shows for a program. */
export function namesOfProgram(program: string): readonly string[] {
  return program === "claude-code" ? CLAUDE_MODELS : [program];
}

/** The name of a model is unknown. */
export class UnknownModel extends Error {
  override readonly name = "UnknownModel";
}

/**
 * Throws for an unknown name, with the names closest to it. `added` are providers besides our own, `programs` the names
 * of all programs.
 */
export function modelSourceOf(
  written: string,
  config: ModelConfig,
  added: readonly ModelProvider[] = [],
  programs: readonly string[] = PROGRAMS,
): ModelSource {
  if (programs.includes(written)) return { kind: "outside", id: written };
  const slash = written.indexOf("/");
  if (slash <= 0 || slash === written.length - 1) throw new UnknownModel(notAName(written));
  const name = written.slice(0, slash);
  const model = written.slice(slash + 1);
  if (written === DEMO_MODEL) return { kind: "demo", id: DEMO_MODEL };
  if (name === "openai-compatible") return serverSource(written, model, config);
  const extra = added.find((each) => each.name === name);
  if (extra !== undefined) return addedSource(written, extra, model, config);
  if (programIn(written, (each) => programs.includes(each)) !== undefined) return programSource(written);
  const provider = providerNamed(name);
  if (provider === undefined) throw new UnknownModel(unknownName(written, name, added));
  const id = `${provider.name}/${model}`;
  const known = KNOWN_MODELS.filter((each) => each.id.startsWith(`${provider.name}/`)).map((each) => each.id);
  const meant = knownModel(id) === undefined && own(config.models, id) === undefined ? nearMiss(id, known) : undefined;
  if (meant !== undefined) throw new UnknownModel(`There is no model ${id}. Did you mean ${meant}?`);
  return { kind: "provider", id, provider, model };
}

/** Why this model cannot be used here, and what to do about it; null if it can. */
export function missingForModel(source: ModelSource, env: Env): string | null {
  const variable = missingKey(source, env);
  if (variable === null) return null;
  const others = PROVIDERS.filter(({ keyVariable }) => keyVariable !== null && keyVariable !== variable);
  const set = others.filter(({ keyVariable }) => keyVariable !== null && keyState(env[keyVariable]) === "set");
  const instead =
    set.length > 0
      ? `take a model of ${set.map(({ name, keyVariable }) => `${name} (${keyVariable} is set)`).join(" or ")}`
      : `set one of ${others.map(({ keyVariable }) => keyVariable).join(", ")} and take a model of that provider`;
  return `${source.id} needs a key: ${variable} is not set. Set it, or ${instead}, or use ${DEMO_MODEL}, which needs none.`;
}

/** The variable that has to be set first. */
export function missingKey(source: ModelSource, env: Env): string | null {
  const variable = keyVariableOf(source);
  return variable !== null && keyState(env[variable]) === "missing" ? variable : null;
}

/** The variable that has to be set again, because its value is not a key. */
export function malformedKey(source: ModelSource, env: Env): string | null {
  const variable = keyVariableOf(source);
  return variable !== null && keyState(env[variable]) === "malformed" ? variable : null;
}

export function keyVariableOf(source: ModelSource): string | null {
  if (source.kind === "provider") return source.provider.keyVariable;
  if (source.kind === "added") return source.provider.keyVariable ?? null;
  return source.kind === "server" ? (source.settings.api_key_env ?? null) : null;
}

export function windowOf(source: ModelSource, config: ModelConfig): number {
  const told = own(config.models, source.id)?.context_window;
  if (told !== undefined) return told;
  if (source.kind === "server") return source.settings.context_window ?? UNKNOWN_WINDOW;
  if (source.kind === "added") return offeredModel(source.provider, source.model)?.contextWindow ?? UNKNOWN_WINDOW;
  if (source.kind !== "provider") return 200_000;
  return knownModel(source.id)?.contextWindow ?? own(UNKNOWN_WINDOWS, source.provider.name) ?? UNKNOWN_WINDOW;
}

export function searchesAt(source: ModelSource): boolean {
  if (source.kind === "added") return offeredModel(source.provider, source.model)?.searchesWeb ?? false;
  return source.kind === "provider" && searchesWeb(source.provider.name, source.model);
}

export function seesAt(source: ModelSource): boolean {
  return source.kind === "provider" && seesPictures(source.provider.name, source.model);
}

/** What people should know when they use a model that we do not know. */
export function noteOn(source: ModelSource, config: ModelConfig): string | null {
  if (source.kind === "demo" || source.kind === "outside" || knownModel(source.id) !== undefined) return null;
  const told =
    own(config.models, source.id)?.context_window ??
    (source.kind === "server" ? source.settings.context_window : undefined) ??
    (source.kind === "added" ? offeredModel(source.provider, source.model)?.contextWindow : undefined);
  if (told !== undefined) return null;
  const where =
    source.kind === "server" ? `providers.${source.server}.context_window` : `models["${source.id}"].context_window`;
  return (
    `${source.id} is not in our list; a context of ${windowOf(source, config)} tokens is assumed. ` +
    `If it has another, say so in config.json (${where}).`
  );
}

export function outsideOnly(id: string): string {
  return `${id} is a program that works as an agent, not a model that can be called here. Choose another model.`;
}

function programSource(id: string): ModelSource {
  const meant = CLAUDE_MODELS.includes(id) ? undefined : nearMiss(id, CLAUDE_MODELS);
  if (meant !== undefined) throw new UnknownModel(`There is no model ${id}. Did you mean ${meant}?`);
  return { kind: "outside", id };
}

function addedSource(id: string, provider: ModelProvider, model: string, config: ModelConfig): ModelSource {
  const offered = (provider.models ?? []).map(({ name }) => `${provider.name}/${name}`);
  const isKnown = offered.includes(id) || own(config.models, id) !== undefined;
  const meant = isKnown ? undefined : nearMiss(id, offered);
  if (meant !== undefined) throw new UnknownModel(`There is no model ${id}. Did you mean ${meant}?`);
  return { kind: "added", id, provider, model };
}

function serverSource(written: string, rest: string, config: ModelConfig): ModelSource {
  const slash = rest.indexOf("/");
  const server = slash < 0 ? rest : rest.slice(0, slash);
  const settings = own(config.providers, server);
  const servers = Object.keys(config.providers ?? {});
  if (settings === undefined) {
    const known = servers.length === 0 ? "It names none yet." : `It names ${servers.join(", ")}.`;
    throw new Error(
      `${written}: there is no server "${server}" in config.json. ${known} ` +
        `Add it under "providers", like {"${server}": {"base_url": "http://host:8000/v1"}}.`,
    );
  }
  const { base_url } = settings;
  if (base_url === undefined)
    throw new Error(`${written}: providers.${server} in config.json has no base_url, so it is not a server. Add one.`);
  const model = slash < 0 ? "" : rest.slice(slash + 1);
  if (model === "") throw new Error(`${written} names a server but no model. Write openai-compatible/${server}/MODEL.`);
  return { kind: "server", id: written, server, settings: { ...settings, base_url }, model };
}

/** Only a slip of a letter or two: a name that is further away may well be a model newer than this list. */
function nearMiss(id: string, names: readonly string[]): string | undefined {
  const digits = (text: string) => text.replace(/\D/g, "");
  // Another number is another model, not a slip: claude-opus-6 is not claude-opus-5 mistyped.
  return nearest(id, names, 1).find((name) => digits(name) === digits(id));
}

function unknownName(written: string, name: string, added: readonly ModelProvider[]): string {
  const names = [...PROVIDER_NAMES, ...added.map((provider) => provider.name)];
  const ids = [...KNOWN_MODELS.map(({ id }) => id), DEMO_MODEL, ...CLAUDE_MODELS];
  const near = [...new Set([...nearest(written, ids), ...nearest(name, names).map((found) => `${found}/…`)])].slice(
    0,
    3,
  );
  const hint = near.length > 0 ? ` Did you mean ${near.join(" or ")}?` : "";
  return `There is no model ${written}.${hint} Providers are ${names.join(", ")}; agiraph models lists the models.`;
}

function notAName(written: string): string {
  const example = exampleOf(written);
  if (example !== undefined) return `"${written}" is a provider, not a model's name; add the model, like ${example}.`;
  const near = nearest(
    written,
    KNOWN_MODELS.map(({ id }) => id.slice(id.indexOf("/") + 1)),
    1,
  );
  const found = KNOWN_MODELS.find(({ id }) => id.endsWith(`/${near[0]}`));
  const hint = found === undefined ? "" : ` Did you mean ${found.id}?`;
  return `"${written}" is not a model's name; write provider/model, like anthropic/claude-sonnet-5.${hint}`;
}

function exampleOf(provider: string): string | undefined {
  if (provider === "openai-compatible") return "openai-compatible/SERVER/MODEL";
  const known = [...KNOWN_MODELS.map(({ id }) => id), DEMO_MODEL];
  if (PROVIDERS_ALONE.includes(provider))
    return known.find((id) => id.startsWith(`${provider}/`)) ?? `${provider}/MODEL`;
  return undefined;
}
