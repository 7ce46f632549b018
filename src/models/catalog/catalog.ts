import { createScrubber, type Scrubber } from "../../boundary/scrubber.ts";
import { secretsIn } from "../../boundary/secrets.ts";
import type { Usage } from "../../protocol/index.ts";
import type { Model } from "../model.ts";
import { withoutSecrets } from "../scrubbed-model.ts";
import { listening, nodeTimer, type StartTimer } from "../wire/attempt.ts";
import { httpPost, type Post } from "../wire/post.ts";
import { createProviderModel } from "../wire/provider-model.ts";
import { compatibleQuirks } from "../wire/provider-quirks.ts";
import { type RetryLimits, type RetryPorts, withRetry } from "../wire/retry.ts";
import { withToolsAsText } from "../wire/text-fallback.ts";
import { Connections, keyIn, type ProviderSource, type ServerSource } from "./connections.ts";
import { ollamaModels } from "./declared-models.ts";
import { type ChosenModel, chooseDefaultModel } from "./default-model.ts";
import { type CatalogProgram, type ListedModel, listModels } from "./listed-models.ts";
import type { ModelConfig } from "./model-config.ts";
import {
  keyVariableOf,
  type ModelSource,
  missingForModel,
  modelSourceOf,
  noteOn,
  outsideOnly,
  programIn,
  searchesAt,
  seesAt,
  windowOf,
} from "./model-name.ts";
import { createProvidedModel, type ModelProvider, offeredModel } from "./model-provider.ts";
import { createPrices, type Prices } from "./prices.ts";
import { refusedSetting, samplingOf } from "./sampling.ts";

type AddedSource = Extract<ModelSource, { kind: "added" }>;

/** `provider/model` → Model. */
export interface Catalog {
  /** Ready to use and tried again by itself. Throws, with advice, for a name that cannot be used here. */
  model(id: string): Promise<Model>;
  /** What would be made of this name, without making it. Throws like `model`. */
  resolve(id: string): ResolvedModel;
  /** The program that stands where a model does; undefined for a model, and for a name that leads nowhere. */
  programOf(id: string): string | undefined;
  list(): Promise<ListedModel[]>;
  chooseDefault(): Promise<ChosenModel>;
  cost(id: string, usage: Usage): Promise<number | null>;
}

export interface ResolvedModel {
  /** The name in full: aliases are replaced. */
  id: string;
  contextWindow: number;
  searchesWeb: boolean;
  /** Something people should know about this choice. */
  note: string | null;
}

export interface CatalogOptions extends RetryPorts {
  env: Readonly<Record<string, string | undefined>>;
  config: ModelConfig;
  fetch?: typeof globalThis.fetch;
  post?: Post;
  now?: () => number;
  startTimer?: StartTimer;
  stallMs?: number;
  retry?: RetryLimits;
  /** The stand-in that needs no key. */
  demo?(): Promise<Model>;
  /** Beside the built-in ones. */
  providers?: readonly ModelProvider[];
  /** Takes secrets out of what models and providers say; those of `env` and `config` unless another is given. */
  scrubber?: Scrubber;
  /** Programs like `claude-code`, which are not models to be called, and can stand where one does. */
  programs?: () => readonly CatalogProgram[];
}

export function createCatalog(options: CatalogOptions): Catalog {
  const { env, config, providers: added = [] } = options;
  const fetch = options.fetch ?? globalThis.fetch;
  const programs = options.programs ?? (() => []);
  const sourceOf = (id: string) => modelSourceOf(id, config, added, nameable(programs()));
  const scrubber = options.scrubber ?? createScrubber(secretsIn({ env, config }));
  const prices = createPrices(config, options.now ?? Date.now, (id) => offeredAt(id, added)?.prices);
  const maker = new ModelMaker(options, prices);
  return {
    async model(id) {
      const at = sourceOf(id);
      const problem = missingForModel(at, env);
      if (problem !== null) throw new Error(problem);
      if (at.kind === "demo") {
        if (!options.demo) throw new Error("This program does not include the demo. Choose another model.");
        return options.demo();
      }
      if (at.kind === "outside") throw new Error(outsideOnly(at.id));
      return withoutSecrets(await maker.model(at), scrubber);
    },
    programOf(id) {
      // What somebody adds as a provider under the name of a program is theirs.
      if (added.some(({ name }) => id.startsWith(`${name}/`))) return undefined;
      const names = programs().map(({ name }) => name);
      return programIn(id, (name) => names.includes(name));
    },
    list: () => {
      const { priceOf } = prices;
      return listModels({ env, config, fetch, added, scrubber, priceOf, programs: programs() });
    },
    resolve(id) {
      const at = sourceOf(id);
      const problem = missingForModel(at, env);
      if (problem !== null) throw new Error(problem);
      if (at.kind === "outside" && programs().length === 0) throw new Error(outsideOnly(at.id));
      if (at.kind === "provider" || at.kind === "added") keyIn(env, at.provider.keyVariable ?? undefined);
      if (at.kind === "server") keyIn(env, at.settings.api_key_env);
      return { id: at.id, contextWindow: windowOf(at, config), searchesWeb: searchesAt(at), note: noteOn(at, config) };
    },
    chooseDefault: () =>
      chooseDefaultModel({
        env,
        config,
        ollamaModels: () => ollamaModels({ env, fetch }),
        hasClaude: programs().some(({ name, missing }) => name === "claude-code" && missing === null),
      }),
    cost: prices.costOf,
  };
}

/** Makes models that can be used: with their retries, and with tools as text where they have none of their own. */
class ModelMaker {
  readonly #options: CatalogOptions;
  readonly #prices: Prices;
  readonly #connections: Connections;
  readonly #searches: number | null;
  readonly #now: () => number;

  constructor(options: CatalogOptions, prices: Prices) {
    this.#options = options;
    this.#prices = prices;
    this.#now = options.now ?? Date.now;
    this.#searches = maxSearches(options.env.AGIRAPH_SEARCH_MAX_USES);
    const fetch = listening(options.fetch ?? globalThis.fetch);
    this.#connections = new Connections(options.env, fetch, options.post ?? httpPost);
  }

  async model(at: ProviderSource | ServerSource | AddedSource): Promise<Model> {
    const { config, sleep, random, retry } = this.#options;
    const made = at.kind === "added" ? await this.#added(at) : await this.#own(at);
    const able = withToolsAsText(made, () => nonce(random), samplingOf(at, config).native_tools);
    return withRetry(able, { sleep, random, ...retry });
  }

  #added(at: AddedSource): Promise<Model> {
    const { env, config, stallMs, startTimer = nodeTimer } = this.#options;
    const { id, provider, model: name } = at;
    const context = { apiKey: keyIn(env, provider.keyVariable), settings: samplingOf(at, config) };
    const contextWindow = windowOf(at, config);
    const ports = { costOf: (usage: Usage) => this.#prices.costOf(id, usage), startTimer, now: this.#now };
    return createProvidedModel(
      { id, contextWindow, provider, name, context, ...(stallMs !== undefined && { stallMs }) },
      ports,
    );
  }

  async #own(at: ProviderSource | ServerSource): Promise<Model> {
    const { config, stallMs, startTimer = nodeTimer } = this.#options;
    const quirks = at.kind === "server" ? compatibleQuirks(at.server) : at.provider.quirks(at.model);
    const settings = samplingOf(at, config);
    const maxSearches = searchesAt(at) ? this.#searches : null;
    return createProviderModel(
      {
        id: at.id,
        wire: (await this.#connections.to(at))(at.model, quirks, maxSearches, settings),
        quirks,
        contextWindow: windowOf(at, config),
        searchesWeb: maxSearches !== null,
        seesPictures: seesAt(at),
        keyVariable: keyVariableOf(at),
        address: this.#connections.addressOf(at),
        ...(stallMs !== undefined && { stallMs }),
      },
      {
        costOf: async (usage, reported) => reported ?? (await this.#prices.costOf(at.id, usage)),
        startTimer,
        now: this.#now,
        adviceOn: (said) => refusedSetting(said, at, config),
      },
    );
  }
}

/** Where there are no programs, those that everybody may have are named all the same, to say what they are. */
function nameable(programs: readonly CatalogProgram[]): readonly string[] | undefined {
  return programs.length > 0 ? programs.map(({ name }) => name) : undefined;
}

function offeredAt(id: string, added: readonly ModelProvider[]) {
  const slash = id.indexOf("/");
  const provider = added.find(({ name }) => name === id.slice(0, slash));
  return provider && offeredModel(provider, id.slice(slash + 1));
}

const DEFAULT_SEARCHES = 5;

/** Null is none at all. */
function maxSearches(written: string | undefined): number | null {
  if (written === undefined || written.trim() === "") return DEFAULT_SEARCHES;
  const count = Number(written);
  if (Number.isInteger(count) && count >= 0) return count === 0 ? null : count;
  throw new Error(`AGIRAPH_SEARCH_MAX_USES is "${written}"; it must be a whole number, or 0 to turn searching off.`);
}

/** Two draws, since one of them has only 52 bits. */
function nonce(random: () => number): string {
  const draw = () => random().toString(36).slice(2, 8).padEnd(6, "0");
  return draw() + draw();
}
