import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider";

type StreamPart = LanguageModelV4StreamPart;
type Json = Readonly<Record<string, unknown>>;

interface OpenCall {
  id: string;
  name: string;
  text: string;
  /** What some servers want back with the call, like Gemini's signature. */
  extra: unknown;
}

/**
 * Turns chunks of a chat completion into stream parts. Calls come out at the end, in the model's order, and only if the
 * server has said why it stopped.
 */
export class ChatReader {
  /** Under this name a provider finds what it wants back. */
  readonly #key: string;
  /** By the index that the server gives them, or by the next free one. A map: an index may be any number. */
  readonly #calls = new Map<number, OpenCall>();
  readonly #ids = new Set<string>();
  #last = -1;
  #began = false;
  #usage: Json | undefined;
  #raw: string | undefined;

  constructor(key: string) {
    this.#key = key;
  }

  event(data: string): StreamPart[] {
    if (data === "[DONE]") return [];
    try {
      return this.#chunk(JSON.parse(data));
    } catch {
      const garbled = new Error(`a line of the stream is not JSON: ${data.slice(0, 100)}`);
      return [{ type: "error", error: Object.assign(garbled, { name: "AI_JSONParseError" }) }];
    }
  }

  whole(body: unknown): StreamPart[] {
    return [...this.#chunk(body), ...this.end()];
  }

  end(): StreamPart[] {
    const finish: StreamPart = { type: "finish", finishReason: finishOf(this.#raw), usage: usageOf(this.#usage) };
    if (this.#raw === undefined) return [finish];
    const inOrder = [...this.#calls].sort(([a], [b]) => a - b);
    return [...inOrder.map(([, call], at) => callPart(call, at, this.#key)), finish];
  }

  #chunk(value: unknown): StreamPart[] {
    const body = record(value);
    if (body.error !== undefined && body.error !== null) return [{ type: "error", error: body.error }];
    if (body.usage !== undefined && body.usage !== null) this.#usage = record(body.usage);
    if (!Array.isArray(body.choices)) return [];
    const choice = record(body.choices[0]);
    if (typeof choice.finish_reason === "string") this.#raw = choice.finish_reason;
    const parts = this.#delta(record(choice.delta ?? choice.message));
    // The first chunk of many servers names the role and says nothing: it is a reply all the same.
    if (parts.length === 0 && !this.#began && this.#raw === undefined) parts.push({ type: "response-metadata" });
    this.#began = true;
    return parts;
  }

  #delta(said: Json): StreamPart[] {
    const parts: StreamPart[] = [];
    const thought = said.reasoning_content ?? said.reasoning;
    if (typeof thought === "string" && thought !== "") parts.push({ type: "reasoning-delta", id: "0", delta: thought });
    addWords(textOf(said.content), parts);
    addWords(textOf(said.refusal), parts);
    if (Array.isArray(said.tool_calls)) for (const call of said.tool_calls) this.#addCall(record(call), parts);
    return parts;
  }

  #addCall(said: Json, parts: StreamPart[]): void {
    const fn = record(said.function);
    const call = this.#openCall(said, typeof fn.name === "string" ? fn.name : "");
    const text = typeof fn.arguments === "string" ? fn.arguments : objectText(fn.arguments);
    call.text += text;
    call.extra ??= said.extra_content;
    if (text !== "") parts.push({ type: "tool-input-delta", id: call.id, delta: text });
  }

  /** Some servers leave out the index, some the id, some send the name late: a new id or name without index is a new call. */
  #openCall(said: Json, name: string): OpenCall {
    const id = typeof said.id === "string" ? said.id : "";
    const last = this.#last;
    const isNew = () => (id === "" ? name !== "" && this.#calls.get(last)?.name !== "" : !this.#ids.has(id));
    const index = typeof said.index === "number" ? said.index : last < 0 || isNew() ? last + 1 : last;
    const call = this.#calls.get(index) ?? { id, name: "", text: "", extra: undefined };
    this.#calls.set(index, call);
    this.#last = index;
    if (call.id === "") call.id = id;
    if (call.name === "") call.name = name;
    this.#ids.add(call.id);
    return call;
  }
}

function callPart({ id, name, text, extra }: OpenCall, at: number, key: string): StreamPart {
  const own = extra === undefined || extra === null ? undefined : { [key]: { extra_content: extra } };
  return {
    type: "tool-call",
    toolCallId: id || `call_${at}`,
    toolName: name,
    input: text,
    ...(own && { providerMetadata: JSON.parse(JSON.stringify(own)) }),
  };
}

/** A map: a server may name any reason, also one that every object has (`constructor`). */
const FINISHES: ReadonlyMap<string, LanguageModelV4FinishReason["unified"]> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["tool_calls", "tool-calls"],
  ["function_call", "tool-calls"],
  ["content_filter", "content-filter"],
  ["error", "error"],
]);

function finishOf(raw: string | undefined): LanguageModelV4FinishReason {
  return { unified: raw === undefined ? "interrupted" : (FINISHES.get(raw) ?? "other"), raw };
}

function usageOf(usage: Json | undefined): LanguageModelV4Usage {
  const cached = number(record(usage?.prompt_tokens_details).cached_tokens) ?? number(usage?.prompt_cache_hit_tokens);
  return {
    inputTokens: { total: number(usage?.prompt_tokens), noCache: undefined, cacheRead: cached, cacheWrite: undefined },
    outputTokens: {
      total: number(usage?.completion_tokens),
      text: undefined,
      reasoning: number(record(usage?.completion_tokens_details).reasoning_tokens),
    },
  };
}

/** Words, also where a server sends them as a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part) => record(part).text)
    .reduce<string>((all, text) => (typeof text === "string" ? all + text : all), "");
}

function addWords(words: string, parts: StreamPart[]): void {
  if (words !== "") parts.push({ type: "text-delta", id: "0", delta: words });
}

function objectText(value: unknown): string {
  return value instanceof Object ? JSON.stringify(value) : "";
}

function number(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function record(value: unknown): Json {
  return value instanceof Object ? (value as Json) : NOTHING;
}

const NOTHING: Json = {};
