import { createScrubber, type Scrubber } from "../../boundary/scrubber.ts";
import { secretsIn } from "../../boundary/secrets.ts";
import { withoutRedirects } from "../../boundary/without-redirects.ts";
import type { Usage } from "../../protocol/index.ts";
import type { Model } from "../model.ts";
import { withoutSecrets } from "../scrubbed-model.ts";
import { listening, nodeTimer, type StartTimer } from "../wire/attempt.ts";
import { httpPost, type Post, postWithoutRedirects } from "../wire/post.ts";
import { createProviderModel } from "../wire/provider-model.ts";
import { compatibleQuirks } from "../wire/provider-quirks.ts";
import { type RetryLimits, type RetryPorts, withRetry } from "../wire/retry.ts";
import { withToolsAsText } from "../wire/text-fallback.ts";
import { baseUrl } from "./base-url.ts";
import { declaredModels, ollamaModels } from "./declared-models.ts";
import { type ChosenModel, chooseDefaultModel, DEMO_MODEL } from "./default-model.ts";
import { keyState } from "./key.ts";
import { KNOWN_MODELS, UNKNOWN_WINDOW } from "./known-models.ts";
import type { ModelConfig, Price } from "./model-config.ts";
import {
  keyVariableOf,
  malformedKey,
  missingFor,
  missingKey,
  noteOn,
  OUTSIDE,
  outsideOnly,
  type Place,
  placeOf,
  searchesAt,
  seesAt,
  windowOf,
} from "./model-name.ts";
import { createProvidedModel, type ModelProvider, offeredModel } from "./model-provider.ts";
import { createPrices } from "./prices.ts";
import { type Connection, connectCompatible, type Provider, type Speaker } from "./providers.ts";
import { refusedSetting, settingsOf } from "./sampling.ts";

type ProviderPlace = Extract<Place, { kind: "provider" }>;
type AddedPlace = Extract<Place, { kind: "added" }>;
type ServerPlace = Extract<Place, { kind: "server" }>;
type Connected = Promise<Speaker>;

/** `provider/model` → Model. */
export interface Catalog {
  /** Ready to use and tried again by itself. Throws, with advice, for a name that cannot be used here. */
  model(id: string): Promise<Model>;
  /** What would be made of this name, without making it. Throws like `model`. */
  resolve(id: string): ResolvedModel;
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
  hasCommand?: (name: string) => Promise<boolean>;
  /** Beside the built-in ones. */
  providers?: readonly ModelProvider[];
  /** Takes secrets out of what models and providers say; those of `env` and `config` unless another is given. */
  scrubber?: Scrubber;
  /** Whether there is somebody who can have `claude-code/…` think, which is no model to be called. */
  outsideAgents?: boolean;
}

export function createCatalog(options: CatalogOptions): Catalog {
  const { env, config, sleep, random, providers: added = [] } = options;
  const now = options.now ?? Date.now;
  const fetch = listening(options.fetch ?? globalThis.fetch);
  const post = options.post ?? httpPost;
  const scrubber = options.scrubber ?? createScrubber(secretsIn({ env, config }));
  const prices = createPrices(config, now, (id) => offeredAt(id, added)?.prices);
  const connections = new Map<string, Connected>();
  const searches = maxSearches(env.AGIRAPH_SEARCH_MAX_USES);

  function connect(at: ProviderPlace | ServerPlace): Connected {
    const key = at.kind === "server" ? `server/${at.server}` : at.provider.name;
    let connection = connections.get(key);
    if (connection === undefined) {
      connection = at.kind === "server" ? connectServer(at) : connectProvider(at.provider);
      connections.set(key, connection);
    }
    return connection;
  }

  function connectProvider(provider: Provider): Connected {
    const apiKey = keyIn(env, provider.keyVariable ?? undefined);
    const written = env[provider.urlVariable];
    const baseURL = written ? baseUrl(written, provider.version, provider.urlVariable) : provider.url;
    return provider.connect({ baseURL, apiKey, ...outOf(provider.urlVariable) });
  }

  async function connectServer({ server, settings }: ServerPlace): Connected {
    const setting = `providers.${server}.base_url in config.json`;
    const baseURL = baseUrl(settings.base_url, "v1", setting);
    const apiKey = keyIn(env, settings.api_key_env);
    return connectCompatible("openai-compatible", { baseURL, apiKey, ...outOf(setting) });
  }

  /** The two ways to a provider; neither follows it elsewhere. `setting` is what holds its address. */
  function outOf(setting: string): Pick<Connection, "fetch" | "post"> {
    return { fetch: withoutRedirects(fetch, setting), post: postWithoutRedirects(post, setting) };
  }

  async function model(id: string): Promise<Model> {
    const at = placeOf(id, config, added);
    const problem = missingFor(at, env);
    if (problem !== null) throw new Error(problem);
    if (at.kind === "demo")
      return options.demo?.() ?? Promise.reject(new Error("This program comes without the demo."));
    if (at.kind === "outside") throw new Error(outsideOnly(at.id));
    const made = at.kind === "added" ? await addedModel(at) : await ownModel(at);
    const able = withToolsAsText(made, () => nonce(random), settingsOf(at, config).native_tools);
    return withoutSecrets(withRetry(able, { sleep, random, ...options.retry }), scrubber);
  }

  function addedModel(at: AddedPlace): Promise<Model> {
    const { id, provider, model: name } = at;
    const context = { apiKey: keyIn(env, provider.keyVariable), settings: settingsOf(at, config) };
    const costOf = (usage: Usage) => prices.costOf(id, usage);
    return createProvidedModel({ id, contextWindow: windowOf(at, config), provider, name, context }, { costOf, now });
  }

  async function ownModel(at: ProviderPlace | ServerPlace): Promise<Model> {
    const quirks = at.kind === "server" ? compatibleQuirks(at.server) : at.provider.quirks(at.model);
    const settings = settingsOf(at, config);
    const maxSearches = searchesAt(at) ? searches : null;
    return createProviderModel(
      {
        id: at.id,
        wire: (await connect(at))(at.model, quirks, maxSearches, settings),
        quirks,
        contextWindow: windowOf(at, config),
        searchesWeb: maxSearches !== null,
        seesPictures: seesAt(at),
        keyVariable: keyVariableOf(at),
        ...(options.stallMs !== undefined && { stallMs: options.stallMs }),
      },
      {
        costOf: async (usage, reported) => reported ?? (await prices.costOf(at.id, usage)),
        startTimer: options.startTimer ?? nodeTimer,
        now,
        adviceOn: (said) => refusedSetting(said, at, config),
      },
    );
  }

  async function list(): Promise<ListedModel[]> {
    const programs = options.outsideAgents ? OUTSIDE : [];
    const isInstalled = programs.length > 0 && ((await options.hasCommand?.(CLAUDE)) ?? false);
    const declared = await declaredModels({ env, config, fetch: options.fetch ?? globalThis.fetch });
    const known = KNOWN_MODELS.map(({ id }) => id);
    const offered = added.flatMap(({ name, models = [] }) => models.map((each) => `${name}/${each.name}`));
    const found = [...scrubber.value(declared), ...offered, ...known, ...programs, DEMO_MODEL].map((written) =>
      sought(written, config, added),
    );
    const ids = new Map(found.map((each) => [each.id, each]));
    return Promise.all(
      [...ids.values()].map(async ({ id, at, problem }) => ({
        id,
        contextWindow: at === null ? UNKNOWN_WINDOW : windowOf(at, config),
        searchesWeb: at !== null && searchesAt(at),
        price: await prices.priceOf(id),
        missing: at === null ? problem : at.kind === "outside" && !isInstalled ? CLAUDE : missingKey(at, env),
        malformed: at === null ? null : malformedKey(at, env),
      })),
    );
  }

  return {
    model,
    list,
    resolve(id) {
      const at = placeOf(id, config, added);
      const problem = missingFor(at, env);
      if (problem !== null) throw new Error(problem);
      if (at.kind === "outside" && !options.outsideAgents) throw new Error(outsideOnly(at.id));
      if (at.kind === "provider" || at.kind === "added") keyIn(env, at.provider.keyVariable ?? undefined);
      if (at.kind === "server") keyIn(env, at.settings.api_key_env);
      return { id: at.id, contextWindow: windowOf(at, config), searchesWeb: searchesAt(at), note: noteOn(at, config) };
    },
    chooseDefault: () =>
      chooseDefaultModel({
        env,
        config,
        hasCommand: options.hasCommand ?? (async () => false),
        ollamaModels: () => ollamaModels({ env, fetch: options.fetch ?? globalThis.fetch }),
        outsideAgents: options.outsideAgents ?? false,
      }),
    cost: prices.costOf,
  };
}

/** Where a name leads, or why nowhere: somebody may have written anything into config.json. */
function sought(written: string, config: ModelConfig, added: readonly ModelProvider[]) {
  try {
    const at = placeOf(written, config, added);
    return { id: at.id, at, problem: null };
  } catch (error) {
    return { id: written, at: null, problem: error instanceof Error ? error.message : String(error) };
  }
}

function offeredAt(id: string, added: readonly ModelProvider[]) {
  const slash = id.indexOf("/");
  const provider = added.find(({ name }) => name === id.slice(0, slash));
  return provider && offeredModel(provider, id.slice(slash + 1));
}

/** A key that could not be sent is said to be wrong here, without showing it: further down it would end up in a message. */
function keyIn(env: CatalogOptions["env"], variable: string | undefined): string {
  const written = variable === undefined ? undefined : env[variable];
  if (keyState(written) !== "malformed") return written?.trim() ?? "";
  throw new Error(
    `${variable} is malformed: it is blank, or holds characters that no key has (a line break, a blank, a letter beyond ASCII). Set it again.`,
  );
}

const CLAUDE = "claude";
const DEFAULT_SEARCHES = 5;

/** Null is none at all. */
function maxSearches(written: string | undefined): number | null {
  if (written === undefined || written.trim() === "") return DEFAULT_SEARCHES;
  const count = Number(written);
  if (Number.isInteger(count) && count >= 0) return count === 0 ? null : count;
  throw new Error(`AGIRAPH_SEARCH_MAX_USES is "${written}"; it has to be a whole number, or 0 for no searching.`);
}

/** Two draws, since one of them has only 52 bits. */
function nonce(random: () => number): string {
  const draw = () => random().toString(36).slice(2, 8).padEnd(6, "0");
  return draw() + draw();
}
