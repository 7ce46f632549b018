import type { JSONValue, LanguageModelV4StreamPart, LanguageModelV4Usage, SharedV4Warning } from "@ai-sdk/provider";
import type { Part, Usage } from "../protocol/index.ts";
import { isCut, isHarmless } from "./failure.ts";
import type { ModelRequest } from "./model.ts";
import type { Quirks } from "./quirks.ts";

type StreamPart = LanguageModelV4StreamPart;
type Words = Extract<Part, { type: "text" | "reasoning" }>;
type Finish = Extract<StreamPart, { type: "finish" }>;
type Metadata = { [provider: string]: unknown };

/**
 * Stream parts in, whole parts out.
 *
 * R1. Parts stand in the order in which they began.
 * R2. Metadata may come with the start, an (empty) delta or the end of a part; a part carries all of it.
 * R3. What the provider did by itself is kept in the form in which it is handed back.
 * R4. An error the provider streamed ends the reply. Only what is merely undocumented is passed over, with a warning.
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

  function take(part: StreamPart): void {
    if (takeWords(part)) return;
    switch (part.type) {
      case "tool-input-delta":
        reader.size += part.delta.length;
        break;
      case "tool-call":
        if (part.providerExecuted) content.push(nativeCall(part));
        else content.push(call(part, rawArguments?.of(part.toolCallId) ?? part.input, content));
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

/** Arguments as the model sent them: parsed, or the text itself when it is not JSON. */
export function parseArguments(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    const parsed: unknown = JSON.parse(text);
    // Some models send their JSON inside a JSON string.
    if (typeof parsed !== "string") return parsed;
    const inner: unknown = JSON.parse(parsed);
    return inner instanceof Object ? inner : text;
  } catch {
    return text;
  }
}

function call(part: Extract<StreamPart, { type: "tool-call" }>, text: string, before: readonly Part[]): Part {
  const taken = new Set(before.map((other) => (other.type === "call" ? other.id : "")));
  let id = part.toolCallId || `call_${taken.size}`;
  while (taken.has(id)) id += "_again";
  return {
    type: "call",
    id,
    name: part.toolName,
    args: parseArguments(text),
    ...(part.providerMetadata && { meta: part.providerMetadata }),
  };
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
  const meta: Metadata = { ...part.meta };
  for (const [provider, values] of Object.entries(metadata)) {
    const before = meta[provider];
    meta[provider] = before instanceof Object && values instanceof Object ? { ...before, ...values } : values;
  }
  part.meta = meta;
}

/** The arguments of each call as they came over the wire in the chat-completions format, by call id. */
function createRawArguments() {
  const ids: string[] = [];
  const texts = new Map<string, string>();
  return {
    take(chunk: unknown): void {
      for (const delta of toolCallsIn(chunk)) {
        const index = typeof delta.index === "number" ? delta.index : Math.max(0, ids.length - 1);
        if (typeof delta.id === "string" && delta.id !== "") ids[index] ??= delta.id;
        const id = ids[index];
        const fn = delta.function;
        if (id === undefined || !(fn instanceof Object) || !("arguments" in fn)) continue;
        if (typeof fn.arguments === "string") texts.set(id, (texts.get(id) ?? "") + fn.arguments);
      }
    },
    of: (id: string): string | undefined => texts.get(id),
    /** The SDK hands out the calls whose arguments it can read first; the model's order is the one that counts. */
    putInOrder(content: Part[]): void {
      const calls = content.filter((part) => part.type === "call");
      const place = (id: string) => (ids.includes(id) ? ids.indexOf(id) : ids.length);
      calls.sort((a, b) => place(a.id) - place(b.id));
      for (const [at, part] of content.entries()) if (part.type === "call") content[at] = calls.shift() ?? part;
    },
  };
}

function toolCallsIn(chunk: unknown): { index?: unknown; id?: unknown; function?: unknown }[] {
  const choices = chunk instanceof Object && "choices" in chunk ? chunk.choices : undefined;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const delta = choice instanceof Object && "delta" in choice ? choice.delta : undefined;
  const calls = delta instanceof Object && "tool_calls" in delta ? delta.tool_calls : undefined;
  return Array.isArray(calls) ? calls.filter((call) => call instanceof Object) : [];
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

function count(tokens: number | undefined): number {
  return tokens !== undefined && Number.isFinite(tokens) ? Math.max(0, Math.round(tokens)) : 0;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
