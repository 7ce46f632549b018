import { z } from "zod";
import { orAbort } from "../../boundary/or-abort.ts";
import { NO_USAGE, type Part, partSchema, type ReplyEntry, type Usage } from "../../protocol/index.ts";
import { modelFailureOf } from "../failure.ts";
import { type Model, ModelFailure, type ModelRequest } from "../model.ts";
import { isTooDeep } from "../wire/reply-reader.ts";
import type { ModelSettings, Price } from "./model-config.ts";

/**
 * A provider that is added to the built-in ones: its models are called `NAME/MODEL`.
 *
 * PROVIDER-1. Its replies are checked before they are used: a reply is complete and follows the protocol, or it is a
 *     failure.
 * PROVIDER-2. A stop takes effect at once, whether the provider honours the signal or not.
 * PROVIDER-3. Whatever it throws is one ModelFailure: retried, scrubbed and recorded like that of any other provider.
 */
export interface ModelProvider {
  /** Lower-case letters, digits, - and _. */
  readonly name: string;
  /** The environment variable that holds its key. Without it the person is told to set it. */
  readonly keyVariable?: string;
  /** The models to list. Others may be named too. */
  readonly models?: readonly OfferedModel[];
  /** Called for each model that is used, possibly several times. */
  model(name: string, given: ProviderContext): ProvidedModel | Promise<ProvidedModel>;
  /** Releases what the provider holds. Called once, when the runtime closes. */
  close?(): Promise<void>;
}

export interface OfferedModel {
  readonly name: string;
  /** In tokens; 32,768 if left out. `models["NAME/MODEL"].context_window` in config.json overrides it. */
  readonly contextWindow?: number;
  /** USD for a million tokens. Without a price, no budget in USD can be kept. */
  readonly prices?: Price;
  /** It can be shown pictures: results in the history then have a `shown`. */
  readonly seesPictures?: boolean;
  /** It searches the web by itself, so `web_search` is not offered to it. */
  readonly searchesWeb?: boolean;
}

export interface ProviderContext {
  /** What `keyVariable` holds; empty if there is none. */
  apiKey: string;
  /** What config.json says about this model. */
  settings: ModelSettings;
}

export interface ProvidedModel {
  /** One try: it is repeated where it may help. Report words as they come with `request.onDelta`. */
  reply(request: ModelRequest, signal: AbortSignal): Promise<ProvidedReply>;
}

export interface ProvidedReply {
  content: readonly Part[];
  usage?: Partial<Usage>;
  /** If the provider says what it cost. */
  cost_usd?: number;
  /** Why the model stopped: `stop`, `tool-calls`, `length`, `content-filter`, `other`. */
  finish?: string;
}

/** Type-checks a provider where it is defined. */
export function defineProvider(provider: ModelProvider): ModelProvider {
  return provider;
}

export function offeredModel({ models = [] }: ModelProvider, name: string): OfferedModel | undefined {
  return models.find((each) => each.name === name);
}

interface ProvidedModelSettings extends Pick<Model, "id" | "contextWindow"> {
  provider: ModelProvider;
  /** Its name without the provider's. */
  name: string;
  context: ProviderContext;
}

interface ProvidedModelPorts {
  costOf(usage: Usage): Promise<number | null>;
  now(): number;
}

export async function createProvidedModel(
  { id, contextWindow, provider, name, context }: ProvidedModelSettings,
  ports: ProvidedModelPorts,
): Promise<Model> {
  const made = await provider.model(name, context);
  if (typeof made?.reply !== "function") throw new Error(`${id}: the provider ${provider.name} gave no model.`);
  const { searchesWeb = false, seesPictures = false } = offeredModel(provider, name) ?? {};
  const reply: Model["reply"] = async (request, signal) => {
    signal.throwIfAborted();
    let said: unknown;
    try {
      said = await orAbort(made.reply(request, signal), signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw modelFailureOf(error, id, ports.now(), { keyVariable: provider.keyVariable ?? null });
    }
    const { content, usage, cost_usd, finish } = checked(id, said);
    const cost = cost_usd ?? (await ports.costOf(usage));
    return { role: "assistant", content, model: id, usage, cost_usd: cost, finish } satisfies ReplyEntry;
  };
  return { id, contextWindow, searchesWeb, seesPictures, reply };
}

const count = z.int().nonnegative().default(0);

const replySchema = z.object({
  content: z.array(partSchema),
  usage: z
    .object({ input: count, output: count, cache_read: count, cache_write: count, reasoning: count })
    .default(NO_USAGE),
  cost_usd: z.number().nonnegative().optional(),
  finish: z.string().default("stop"),
});

const MAX_CHARS = 2 * 1024 * 1024;

function checked(id: string, said: unknown): z.infer<typeof replySchema> {
  const parsed = replySchema.safeParse(said);
  if (!parsed.success)
    throw unreadable(id, `not a reply: ${z.prettifyError(parsed.error).replaceAll("\n", " ")}`, true);
  const { content } = parsed.data;
  const size = isTooDeep(content) ? null : sizeOf(content);
  if (size === null) throw unreadable(id, "a reply that cannot be written as JSON", true);
  if (size > MAX_CHARS) throw unreadable(id, "a reply of more than 2 MB", false);
  const calls = content.filter((part) => part.type === "call").map((part) => part.id);
  if (new Set(calls).size < calls.length) throw unreadable(id, "two calls with the same id", true);
  if (content.some((part) => part.type === "call" || (part.type === "text" && part.text.trim() !== "")))
    return parsed.data;
  throw new ModelFailure("empty", `${id} replied with neither words nor calls.`, { retryable: true });
}

/** Null for what is not JSON, like a BigInt: an extension may hand over anything. */
function sizeOf(content: readonly Part[]): number | null {
  try {
    return JSON.stringify(content).length;
  } catch {
    return null;
  }
}

function unreadable(id: string, what: string, retryable: boolean): ModelFailure {
  return new ModelFailure("unreadable", `${id} sent ${what}.`, { retryable });
}
