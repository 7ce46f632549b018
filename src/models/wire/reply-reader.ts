import type { JSONValue, LanguageModelV4StreamPart, LanguageModelV4Usage, SharedV4Warning } from "@ai-sdk/provider";
import type { Part, Usage } from "../../protocol/index.ts";
import { isCut, isHarmless } from "../failure.ts";
import type { ModelRequest } from "../model.ts";
import type { Quirks } from "./provider-quirks.ts";
import { createRawArguments } from "./raw-arguments.ts";

type StreamPart = LanguageModelV4StreamPart;
type Words = Extract<Part, { type: "text" | "reasoning" }>;
type Finish = Extract<StreamPart, { type: "finish" }>;
type Metadata = { [provider: string]: unknown };

/**
 * Stream parts in, whole parts out.
 *
 * REPLY-1. Parts stand in the order in which they began.
 * REPLY-2. Metadata may come with the start, an (empty) delta or the end of a part; a part carries all of it.
 * REPLY-3. What the provider did by itself is kept in the form in which it is handed back.
 * REPLY-4. An error the provider streamed ends the reply. Only what is merely undocumented is passed over, with a
 *     warning.
 */
export interface ReplyReader {
  readonly content: Part[];
  readonly finish: Finish | undefined;
  /** What the provider streamed as an error. `cut` when the stream just ended. */
  readonly error: { cause: unknown; cut: boolean } | undefined;
  /** Undocumented things passed over. */
  readonly skipped: number;
  /** Characters so far. */
  readonly size: number;
  take(part: StreamPart): void;
}

export function createReplyReader(quirks: Quirks, { onDelta, onWarning }: Listeners): ReplyReader {
  const content: Part[] = [];
  const open = new Map<string, Words>();
  const taken = new Set<string>();
  let calls = 0;
  const rawArguments = quirks.hidesBadArguments ? createRawArguments() : undefined;
  const reader = { content, finish: undefined, error: undefined, skipped: 0, size: 0, take } as Mutable<ReplyReader>;

  function start(kind: Words["type"], id: string): Words {
    const part: Words = { type: kind, text: "" };
    content.push(part);
    open.set(kind + id, part);
    return part;
  }

  function words(kind: Words["type"], id: string, delta: string, metadata: Metadata | undefined): void {
    const part = open.get(kind + id) ?? start(kind, id);
    part.text += delta;
    reader.size += delta.length;
    if (metadata !== undefined) addMeta(part, metadata);
    if (onDelta !== undefined && delta !== "") onDelta({ kind, text: delta });
  }

  function end(kind: Words["type"], id: string, metadata: Metadata | undefined): void {
    const part = open.get(kind + id);
    if (part !== undefined) addMeta(part, metadata);
    open.delete(kind + id);
  }

  function fail(error: unknown): void {
    if (!isHarmless(error)) {
      reader.error ??= { cause: error, cut: isCut(error) };
      return;
    }
    reader.skipped++;
    if (reader.skipped > MOST_WARNINGS) return;
    onWarning?.(`Something undocumented in the reply was passed over: ${firstLine(error)}`);
  }

  function takeWords(part: StreamPart): boolean {
    switch (part.type) {
      case "text-delta":
        words("text", part.id, part.delta, part.providerMetadata);
        return true;
      case "reasoning-delta":
        words("reasoning", part.id, part.delta, part.providerMetadata);
        return true;
      case "text-start":
        addMeta(start("text", part.id), part.providerMetadata);
        return true;
      case "reasoning-start":
        addMeta(start("reasoning", part.id), part.providerMetadata);
        return true;
      case "text-end":
        end("text", part.id, part.providerMetadata);
        return true;
      case "reasoning-end":
        end("reasoning", part.id, part.providerMetadata);
        return true;
      default:
        return false;
    }
  }

  function takeCall(part: Extract<StreamPart, { type: "tool-call" }>): void {
    if (++calls > MOST_CALLS) reader.error ??= { cause: tooManyCalls(), cut: false };
    else if (part.providerExecuted) content.push(nativeCall(part));
    else content.push(call(part, rawArguments?.of(part.toolCallId) ?? part.input, taken));
  }

  function take(part: StreamPart): void {
    if (takeWords(part)) return;
    switch (part.type) {
      case "tool-input-delta":
        reader.size += part.delta.length;
        break;
      case "tool-call":
        takeCall(part);
        break;
      case "tool-result":
        if (part.preliminary !== true) content.push(native(nativeResult(part), reader));
        break;
      case "source":
      case "file":
      case "reasoning-file":
        content.push(native(part, reader));
        break;
      case "custom":
        if (!quirks.noise.includes(part.kind)) content.push(native(part, reader));
        break;
      case "raw":
        rawArguments?.take(part.rawValue);
        break;
      case "error":
        fail(part.error);
        break;
      case "finish":
        reader.finish = part;
        rawArguments?.putInOrder(content);
        break;
      case "stream-start":
        for (const warning of part.warnings) onWarning?.(warningText(warning));
        break;
      case "tool-approval-request":
        onWarning?.("The provider asked for an approval that nobody can give here; it was passed over.");
        break;
    }
  }

  return reader;
}

/** Each is a fact; a provider with a new kind of event sends it by the thousand. */
const MOST_WARNINGS = 10;

export type Listeners = Pick<ModelRequest, "onDelta" | "onWarning">;

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

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1));
}

/** Arguments as the model sent them: parsed, or the text itself when it is not JSON. */
export function parseArguments(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    const parsed: unknown = JSON.parse(text);
    // Some models send their JSON inside a JSON string.
    const meant: unknown = typeof parsed === "string" ? JSON.parse(parsed) : parsed;
    const isUsable = typeof parsed !== "string" || meant instanceof Object;
    return isUsable && !isDeeperThan(meant, DEEPEST_ARGUMENTS) ? meant : text;
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

function native(part: { type: string } & Record<string, unknown>, reader: { size: number }): Part {
  const { providerMetadata, ...rest } = part;
  const kept: Record<string, unknown> =
    providerMetadata === undefined ? rest : { ...rest, providerOptions: providerMetadata };
  const file = kept.data;
  if (file instanceof Object && "data" in file && file.data instanceof Uint8Array) {
    kept.data = { ...file, data: Buffer.from(file.data).toString("base64") };
  }
  reader.size += JSON.stringify(kept).length;
  return { type: "native", part: kept };
}

function addMeta(part: Words, metadata: Metadata | undefined): void {
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

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
