import type { JSONValue, LanguageModelV4StreamPart, LanguageModelV4Usage, SharedV4Warning } from "@ai-sdk/provider";
import type { Part, Usage } from "../../protocol/index.ts";
import type { ModelRequest } from "../model.ts";
import { isCutStream, isHarmless } from "../model-failure.ts";
import type { ProviderQuirks } from "./provider-quirks.ts";
import { createRawArguments, type RawArguments } from "./raw-arguments.ts";

type StreamPart = LanguageModelV4StreamPart;
type Words = Extract<Part, { type: "text" | "reasoning" }>;
type Finish = Extract<StreamPart, { type: "finish" }>;
type ProviderMetadata = { [provider: string]: unknown };

/**
 * Collects stream parts into complete parts.
 *
 * REPLY-1. Parts are in the order in which they began.
 * REPLY-2. Metadata may come with the start, an (empty) delta or the end of a part; a part carries all of it.
 * REPLY-3. What the provider did itself is kept in the form in which it has to be returned.
 * REPLY-4. An error in the stream ends the reply. Parts that are merely undocumented are skipped, with a warning.
 */
export class ReplyReader {
  readonly content: Part[] = [];
  finish: Finish | undefined;
  /** What the provider streamed as an error. `cut` when the stream just ended. */
  error: { cause: unknown; cut: boolean } | undefined;
  /** Undocumented things passed over. */
  skipped = 0;
  /** Something came that only a model's reply contains. */
  began = false;
  /** Characters so far. */
  size = 0;
  readonly #quirks: ProviderQuirks;
  readonly #onDelta: ReplyListeners["onDelta"];
  readonly #onWarning: ReplyListeners["onWarning"];
  readonly #rawArguments: RawArguments | undefined;
  /** Parts whose end has not come yet. */
  readonly #open = new Map<string, Words>();
  /** Ids of calls. */
  readonly #taken = new Set<string>();
  #calls = 0;

  constructor(quirks: ProviderQuirks, { onDelta, onWarning }: ReplyListeners) {
    this.#quirks = quirks;
    this.#onDelta = onDelta;
    this.#onWarning = onWarning;
    this.#rawArguments = quirks.hidesBadArguments ? createRawArguments() : undefined;
  }

  take(part: StreamPart): void {
    if (this.#takeWords(part) || this.#takeContent(part)) {
      this.began = true;
      return;
    }
    switch (part.type) {
      case "tool-input-delta":
        this.began = true;
        this.size += part.delta.length;
        break;
      case "raw":
        this.#rawArguments?.take(part.rawValue);
        break;
      case "error":
        this.#fail(part.error);
        break;
      case "finish":
        this.finish = part;
        this.#rawArguments?.putInOrder(this.content);
        break;
      case "stream-start":
        for (const warning of part.warnings) this.#onWarning?.(warningText(warning));
        break;
      case "tool-approval-request":
        this.#onWarning?.("The provider asked for an approval that nobody can give here; it was skipped.");
        break;
      default:
        this.began = true;
    }
  }

  #takeWords(part: StreamPart): boolean {
    switch (part.type) {
      case "text-delta":
        this.#words("text", part.id, part.delta, part.providerMetadata);
        return true;
      case "reasoning-delta":
        this.#words("reasoning", part.id, part.delta, part.providerMetadata);
        return true;
      case "text-start":
        addMeta(this.#start("text", part.id), part.providerMetadata);
        return true;
      case "reasoning-start":
        addMeta(this.#start("reasoning", part.id), part.providerMetadata);
        return true;
      case "text-end":
        this.#end("text", part.id, part.providerMetadata);
        return true;
      case "reasoning-end":
        this.#end("reasoning", part.id, part.providerMetadata);
        return true;
      default:
        return false;
    }
  }

  /** What comes whole. */
  #takeContent(part: StreamPart): boolean {
    switch (part.type) {
      case "tool-call":
        this.#takeCall(part);
        return true;
      case "tool-result":
        if (part.preliminary !== true) this.#takeNative(nativeResult(part));
        return true;
      case "source":
      case "file":
      case "reasoning-file":
        this.#takeNative(part);
        return true;
      case "custom":
        if (!this.#quirks.noise.includes(part.kind)) this.#takeNative(part);
        return true;
      default:
        return false;
    }
  }

  #start(kind: Words["type"], id: string): Words {
    const part: Words = { type: kind, text: "" };
    this.content.push(part);
    this.#open.set(kind + id, part);
    return part;
  }

  #words(kind: Words["type"], id: string, delta: string, metadata: ProviderMetadata | undefined): void {
    const part = this.#open.get(kind + id) ?? this.#start(kind, id);
    part.text += delta;
    this.size += delta.length;
    if (metadata !== undefined) addMeta(part, metadata);
    if (delta !== "") this.#onDelta?.({ kind, text: delta });
  }

  #end(kind: Words["type"], id: string, metadata: ProviderMetadata | undefined): void {
    const part = this.#open.get(kind + id);
    if (part !== undefined) addMeta(part, metadata);
    this.#open.delete(kind + id);
  }

  #takeCall(part: Extract<StreamPart, { type: "tool-call" }>): void {
    if (++this.#calls > MOST_CALLS) this.error ??= { cause: tooManyCalls(), cut: false };
    else if (part.providerExecuted) this.content.push(nativeCall(part));
    else this.content.push(call(part, this.#rawArguments?.of(part.toolCallId) ?? part.input, this.#taken));
  }

  #takeNative(part: { type: string } & Record<string, unknown>): void {
    const kept = keptNative(part);
    this.size += JSON.stringify(kept).length;
    this.content.push({ type: "native", part: kept });
  }

  #fail(error: unknown): void {
    if (!isHarmless(error)) {
      this.error ??= { cause: error, cut: isCutStream(error) };
      return;
    }
    this.skipped++;
    if (this.skipped > MOST_WARNINGS) return;
    this.#onWarning?.(`Something undocumented in the reply was passed over: ${firstLine(error)}`);
  }
}

/** Each is a fact; a provider with a new kind of event sends it by the thousand. */
const MOST_WARNINGS = 10;

export type ReplyListeners = Pick<ModelRequest, "onDelta" | "onWarning">;

export function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage {
  return {
    input: count(inputTokens.total),
    output: count(outputTokens.total),
    cache_read: count(inputTokens.cacheRead),
    cache_write: count(inputTokens.cacheWrite),
    reasoning: count(outputTokens.reasoning),
  };
}

/** What is nested deeper can be parsed, but no longer written: JSON.stringify exhausts the stack. */
const DEEPEST_ARGUMENTS = 200;

export function isTooDeep(value: unknown, levels = DEEPEST_ARGUMENTS): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1));
}

/** Arguments as the model sent them: parsed, or the text itself when it is not JSON. */
export function parseArguments(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    const parsed: unknown = JSON.parse(text);
    // Some models send their JSON inside a JSON string.
    const meant: unknown = typeof parsed === "string" ? JSON.parse(parsed) : parsed;
    const isUsable = typeof parsed !== "string" || meant instanceof Object;
    return isUsable && !isTooDeep(meant) ? meant : text;
  } catch {
    return text;
  }
}

/** More calls than this in one reply are not a plan but a fault; each of them would have its result. */
const MOST_CALLS = 1000;

function tooManyCalls(): Error {
  const error = new Error(`the reply makes more than ${MOST_CALLS} tool calls at once`);
  return Object.assign(error, { name: "AI_InvalidResponseDataError", data: null });
}

function call(part: Extract<StreamPart, { type: "tool-call" }>, text: string, taken: Set<string>): Part {
  const given = part.toolCallId || `call_${taken.size}`;
  const id = taken.has(given) ? firstFree(`${given}_again`, taken) : given;
  taken.add(id);
  return {
    type: "call",
    id,
    name: part.toolName,
    args: parseArguments(text),
    ...(part.providerMetadata && { meta: part.providerMetadata }),
  };
}

function firstFree(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  let number = taken.size;
  while (taken.has(`${name}_${number}`)) number++;
  return `${name}_${number}`;
}

function nativeCall(part: Extract<StreamPart, { type: "tool-call" }>): Part {
  const { toolCallId, toolName, providerMetadata } = part;
  const input = parseArguments(part.input);
  const own = providerMetadata && { providerOptions: providerMetadata };
  return { type: "native", part: { type: "tool-call", toolCallId, toolName, input, providerExecuted: true, ...own } };
}

function nativeResult(part: Extract<StreamPart, { type: "tool-result" }>): Record<string, unknown> & { type: string } {
  const { toolCallId, toolName, result, isError, providerMetadata } = part;
  const output = isError ? { type: "error-json", value: result } : { type: "json", value: withTitles(result) };
  return {
    type: "tool-result",
    toolCallId,
    toolName,
    output,
    ...(providerMetadata && { providerOptions: providerMetadata }),
  };
}

/** Anthropic's SDK leaves out a title that is null and then refuses the result without it. */
function withTitles(result: JSONValue): JSONValue {
  if (!Array.isArray(result)) return result;
  return result.map((item) =>
    item instanceof Object && !Array.isArray(item) && item.type === "web_search_result"
      ? { title: null, ...item }
      : item,
  );
}

/** What the provider did by itself, in the form in which it is handed back. */
function keptNative(part: { type: string } & Record<string, unknown>): { type: string } & Record<string, unknown> {
  const { providerMetadata, ...rest } = part;
  const kept: { type: string } & Record<string, unknown> =
    providerMetadata === undefined ? rest : { ...rest, providerOptions: providerMetadata };
  const file = kept.data;
  if (file instanceof Object && "data" in file && file.data instanceof Uint8Array) {
    kept.data = { ...file, data: Buffer.from(file.data).toString("base64") };
  }
  return kept;
}

function addMeta(part: Words, metadata: ProviderMetadata | undefined): void {
  if (metadata === undefined) return;
  const before = new Map(Object.entries(part.meta ?? {}));
  for (const [provider, values] of Object.entries(metadata)) {
    const known = before.get(provider);
    before.set(provider, known instanceof Object && values instanceof Object ? { ...known, ...values } : values);
  }
  part.meta = Object.fromEntries(before);
}

function warningText(warning: SharedV4Warning): string {
  switch (warning.type) {
    case "unsupported":
    case "compatibility":
      return `${warning.type}: ${warning.feature}${warning.details === undefined ? "" : ` (${warning.details})`}`;
    case "deprecated":
      return `deprecated: ${warning.setting} (${warning.message})`;
    case "other":
      return warning.message;
  }
}

function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (message.split("\n")[0] ?? "").slice(0, 300);
}

/** A count that no request can have is none. */
const MOST_TOKENS = 1e9;

function count(tokens: number | undefined): number {
  const isCount = typeof tokens === "number" && tokens > 0 && tokens <= MOST_TOKENS;
  return isCount ? Math.round(tokens) : 0;
}
