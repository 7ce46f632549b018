import type { Scrubber } from "../../boundary/scrubber.ts";
import { declaredModels } from "./declared-models.ts";
import { DEMO_MODEL } from "./default-model.ts";
import { KNOWN_MODELS, UNKNOWN_WINDOW } from "./known-models.ts";
import type { ModelConfig, Price } from "./model-config.ts";
import { malformedKey, missingKey, modelSourceOf, namesOfProgram, searchesAt, windowOf } from "./model-name.ts";
import type { ModelProvider } from "./model-provider.ts";

export interface ListedModel {
  id: string;
  contextWindow: number;
  searchesWeb: boolean;
  price: Price | null;
  /** Null if it can be used as things are; else what is missing: a variable, a program, or in words what is wrong. */
  missing: string | null;
  /** The variable whose key could not be sent as it is. */
  malformed: string | null;
}

interface ListPorts {
  env: Readonly<Record<string, string | undefined>>;
  config: ModelConfig;
  fetch: typeof globalThis.fetch;
  added: readonly ModelProvider[];
  scrubber: Scrubber;
  priceOf(id: string): Promise<Price | null>;
  programs: readonly CatalogProgram[];
}

/** A program that can stand where a model does. */
export interface CatalogProgram {
  name: string;
  /** The command that is not installed; null if it is. */
  missing: string | null;
  /** Whether it can lead a team; one that cannot is not listed. */
  leads: boolean;
}

/** Every model that can be named here, once, with what is missing to use it. */
export async function listModels(ports: ListPorts): Promise<ListedModel[]> {
  const { env, config, fetch, added, scrubber } = ports;
  const { programs } = ports;
  const names = programs.map(({ name }) => name);
  const missingOf = new Map(
    programs
      .filter(({ leads }) => leads)
      .flatMap(({ name, missing }) => namesOfProgram(name).map((id) => [id, missing] as const)),
  );
  const declared = await declaredModels({ env, config, fetch });
  const known = KNOWN_MODELS.map(({ id }) => id);
  const offered = added.flatMap(({ name, models = [] }) => models.map((each) => `${name}/${each.name}`));
  const found = [...scrubber.value(declared), ...offered, ...known, ...missingOf.keys(), DEMO_MODEL].map((written) =>
    sought(written, config, added, names),
  );
  const ids = new Map(found.map((each) => [each.id, each]));
  return Promise.all(
    [...ids.values()].map(async ({ id, at, problem }) => ({
      id,
      contextWindow: at === null ? UNKNOWN_WINDOW : windowOf(at, config),
      searchesWeb: at !== null && searchesAt(at),
      price: await ports.priceOf(id),
      missing: at === null ? problem : at.kind === "outside" ? (missingOf.get(id) ?? null) : missingKey(at, env),
      malformed: at === null ? null : malformedKey(at, env),
    })),
  );
}

/** Where a name leads, or why nowhere: config.json may hold anything. */
function sought(written: string, config: ModelConfig, added: readonly ModelProvider[], programs: readonly string[]) {
  try {
    const at = modelSourceOf(written, config, added, programs);
    return { id: at.id, at, problem: null };
  } catch (error) {
    return { id: written, at: null, problem: error instanceof Error ? error.message : String(error) };
  }
}
