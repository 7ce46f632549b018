import { z } from "zod";
import { orAbort } from "../../boundary/or-abort.ts";
import { problemsIn } from "../../boundary/unknown-field.ts";
import { NO_USAGE, type Part, partSchema, type ReplyEntry, type Usage } from "../../protocol/index.ts";
import { type Model, ModelFailure, type ModelRequest } from "../model.ts";
import { modelFailureOf } from "../model-failure.ts";
import { type Attempt, beginAttempt, type StartTimer } from "../wire/attempt.ts";
import { brokenOff, LONGEST_MS, QUIET_MS } from "../wire/provider-model.ts";
import { STALL_MS } from "../wire/provider-quirks.ts";
import { isTooDeep } from "../wire/reply-reader.ts";
import type { ModelSettings, Price } from "./model-config.ts";

/**
 * A provider that is added to the built-in ones: its models are called `NAME/MODEL`.
 *
 * PROVIDER-1. Its replies are checked before they are used: a reply is complete and follows the protocol, or it is a
 *     failure.
 * PROVIDER-2. A stop takes effect at once, whether the provider honours the signal or not.
 * PROVIDER-3. Whatever it throws is one ModelFailure: retried, scrubbed and recorded like that of any other provider.
 * PROVIDER-4. It may be silent only as long as a built-in one; then the try is dropped. Each delta is a sign of life,
 *     even an empty one. Deltas that come after the end of a try are ignored.
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
  /** One try: it is repeated where it may help. Report words as they come with `request.onDelta`; silence ends the try. */
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
  stallMs?: number;
}

interface ProvidedModelPorts {
  costOf(usage: Usage): Promise<number | null>;
  startTimer: StartTimer;
  now(): number;
}

export async function createProvidedModel(
  { id, contextWindow, provider, name, context, stallMs = STALL_MS }: ProvidedModelSettings,
  ports: ProvidedModelPorts,
): Promise<Model> {
  const made = await provider.model(name, context);
  if (typeof made?.reply !== "function")
    throw new Error(`${id}: the provider ${provider.name} returned no model. Its author can fix that.`);
  const { searchesWeb = false, seesPictures = false } = offeredModel(provider, name) ?? {};
  const { startTimer, now } = ports;
  const limits = { stallMs, ...UNMEASURED, quietMs: QUIET_MS, longestMs: LONGEST_MS, startTimer, now };
  const reply: Model["reply"] = async (request, signal) => {
    signal.throwIfAborted();
    const attempt = beginAttempt(signal, limits);
    const { onDelta, end } = heardDeltas(attempt, request);
    let said: unknown;
    try {
      said = await orAbort(made.reply({ ...request, onDelta }, attempt.signal), attempt.signal);
    } catch (error) {
      const failure = brokenOff(id, attempt, signal, limits);
      throw failure ?? modelFailureOf(error, id, now(), { keyVariable: provider.keyVariable ?? null });
    } finally {
      end();
    }
    const { content, usage, cost_usd, finish } = checked(id, said);
    const cost = cost_usd ?? (await ports.costOf(usage));
    return { role: "assistant", content, model: id, usage, cost_usd: cost, finish } satisfies ReplyEntry;
  };
  return { id, contextWindow, searchesWeb, seesPictures, reply };
}

/** Passes deltas on until the attempt ends; each keeps it alive. */
function heardDeltas(attempt: Attempt, request: ModelRequest) {
  let hasEnded = false;
  const onDelta: NonNullable<ModelRequest["onDelta"]> = (delta) => {
    if (hasEnded || attempt.broken !== null) return;
    if (delta.text !== "") attempt.said();
    attempt.heard(0);
    if (delta.text !== "") request.onDelta?.(delta);
  };
  const end = () => {
    hasEnded = true;
    attempt.close();
  };
  return { onDelta, end };
}

/** We do not see the bytes that it receives; its reply is measured when it is whole. */
const UNMEASURED = { maxBytes: Number.POSITIVE_INFINITY, maxEventBytes: Number.POSITIVE_INFINITY };

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
    throw new ModelFailure("unreadable", `${id} did not send a valid reply: ${problemsOf(parsed.error)}.`, {
      retryable: true,
    });
  const { content } = parsed.data;
  const size = isTooDeep(content) ? null : sizeOf(content);
  if (size === null) throw unreadable(id, "a reply that cannot be written as JSON", true);
  if (size > MAX_CHARS) throw unreadable(id, "a reply of more than 2 MB", false);
  const calls = content.filter((part) => part.type === "call").map((part) => part.id);
  if (new Set(calls).size < calls.length) throw unreadable(id, "two calls with the same id", true);
  if (content.some((part) => part.type === "call" || (part.type === "text" && part.text.trim() !== "")))
    return parsed.data;
  throw new ModelFailure("empty", `${id} replied with neither text nor tool calls.`, { retryable: true });
}

function problemsOf(error: z.ZodError): string {
  return problemsIn(error, replySchema).replaceAll("\n", "; ");
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
