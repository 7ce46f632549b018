import { createHash } from "node:crypto";
import type {
  JSONObject,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import {
  type CallPart,
  callsOf,
  type Entry,
  type Part,
  type ReplyEntry,
  type ResultEntry,
} from "../../protocol/index.ts";
import type { ShownResult } from "../model.ts";
import type { ProviderQuirks } from "./provider-quirks.ts";
import { wellFormed, wellFormedJson } from "./well-formed.ts";

type AssistantMessage = Extract<LanguageModelV4Message, { role: "assistant" }>;
type SystemMessage = Extract<LanguageModelV4Message, { role: "system" }>;
type ToolMessage = Extract<LanguageModelV4Message, { role: "tool" }>;
type UserMessage = Extract<LanguageModelV4Message, { role: "user" }>;
type AssistantPart = AssistantMessage["content"][number];

/**
 * Converts our conversation into the SDKs' format.
 *
 * PROMPT-1. An entry is converted once; the message is kept for as long as the entry lives. Histories only grow, so a
 *     turn converts what is new and nothing else. Messages are shared between requests and never changed.
 * PROMPT-2. Neighbours that providers want as one message become one: consecutive user texts, and all results of a
 *     reply.
 * PROMPT-3. Every call has exactly one result, directly after its reply. A history that violates this is a bug of ours
 *     and is not sent: providers refuse it, or worse, accept it.
 * PROMPT-4. What a provider gave us to hand back (signatures, encrypted results) is returned unchanged to that
 *     provider, and to no other: another provider gets the text and the calls. Each server of config.json is a provider
 *     of its own.
 * PROMPT-5. No text is sent with half a character in it, no matter who wrote it.
 */
export class PromptWriter {
  /** How the names of its models begin. */
  readonly #provider: string;
  readonly #quirks: ProviderQuirks;
  readonly #users = new WeakMap<Entry, { first: Entry; message: UserMessage }>();
  readonly #replies = new WeakMap<Entry, WrittenReply>();
  readonly #results = new WeakMap<Entry, { reply: Entry; message: ToolMessage }>();
  /** What was written last, and the messages it gave; each with the place in the history where it ends. */
  readonly #written: Entry[] = [];
  readonly #said: { message: LanguageModelV4Message; end: number }[] = [];
  #lastSystem: { system: string; message: SystemMessage } | undefined;

  constructor(provider: string, quirks: ProviderQuirks) {
    this.#provider = `${provider}/`;
    this.#quirks = quirks;
  }

  write(system: string, history: readonly Entry[]): LanguageModelV4Prompt {
    let at = this.#keepSame(history);
    while (at < history.length) at = this.#writeNext(history, at);
    for (let next = this.#written.length; next < history.length; next++) this.#written.push(history[next] as Entry);
    const prompt: LanguageModelV4Prompt = this.#said.map(({ message }) => message);
    if (system !== "") prompt.unshift(this.#systemMessage(system));
    const { cacheMark, key } = this.#quirks;
    if (cacheMark !== null) markPrefixes(prompt, { [key]: cacheMark });
    return prompt;
  }

  /** What a reply looks like when it is sent back: how a paused turn goes on. */
  assistant(content: readonly Part[], foreign = false): AssistantMessage {
    const parts = content.map((part) => assistantPart(part, foreign, this.#quirks)).filter((part) => part !== null);
    return { role: "assistant", content: parts.length > 0 ? parts : [{ type: "text", text: "(no words)" }] };
  }

  /** Forgets what is no longer so; returns from where on the history is to be written. */
  #keepSame(history: readonly Entry[]): number {
    const [written, said] = [this.#written, this.#said];
    let same = 0;
    while (same < written.length && written[same] === history[same]) same++;
    written.length = same;
    // The last words may go on, and become one message with what follows.
    if (isWords(history[same])) while (isWords(history[same - 1])) same--;
    while ((said.at(-1)?.end ?? 0) > same) said.pop();
    return said.at(-1)?.end ?? 0;
  }

  /** Writes the message that begins here; returns where the next one does. */
  #writeNext(history: readonly Entry[], at: number): number {
    const entry = history[at];
    if (entry === undefined || entry.role === "system") return at + 1;
    if (entry.role === "tool") throw orphan(entry, at);
    if (entry.role === "assistant") {
      const { message, calls, foreign } = this.#replyMessage(entry);
      const end = at + 1 + calls.length;
      this.#said.push({ message, end });
      if (calls.length > 0)
        this.#said.push({ message: this.#resultMessage(entry, calls, history.slice(at + 1, end), foreign), end });
      return end;
    }
    const end = endOfWords(history, at);
    this.#said.push({ message: this.#userMessage(history, at, end), end });
    return end;
  }

  #systemMessage(system: string): SystemMessage {
    if (this.#lastSystem?.system !== system)
      this.#lastSystem = { system, message: { role: "system", content: wellFormed(system) } };
    return this.#lastSystem.message;
  }

  #replyMessage(entry: ReplyEntry): WrittenReply {
    let known = this.#replies.get(entry);
    if (known === undefined) {
      const foreign = !entry.model.startsWith(this.#provider);
      known = { message: this.assistant(entry.content, foreign), calls: callsOf(entry), foreign };
      this.#replies.set(entry, known);
    }
    return known;
  }

  #userMessage(history: readonly Entry[], start: number, end: number): UserMessage {
    const first = history[start] as Entry;
    const last = history[end - 1] as Entry;
    const known = this.#users.get(last);
    if (known?.first === first) return known.message;
    const text = history.slice(start, end).map(wordsOf).join("\n\n");
    const message: UserMessage = { role: "user", content: [{ type: "text", text: text === "" ? "(empty)" : text }] };
    this.#users.set(last, { first, message });
    return message;
  }

  #resultMessage(reply: ReplyEntry, calls: readonly CallPart[], after: Entry[], foreign: boolean): ToolMessage {
    const last = after.at(-1);
    const known = last && this.#results.get(last);
    if (known?.reply === reply) return known.message;
    const answers = after.filter((entry) => entry.role === "tool");
    for (const call of calls) {
      if (answers.filter((entry) => entry.call_id === call.id).length !== 1) throw unanswered(call, reply);
    }
    const content = answers.map((entry) => resultPart(entry, foreign, this.#quirks));
    const message: ToolMessage = { role: "tool", content };
    if (last) this.#results.set(last, { reply, message });
    return message;
  }
}

interface WrittenReply {
  message: AssistantMessage;
  calls: readonly CallPart[];
  /** Of another provider. */
  foreign: boolean;
}

/** A bug of ours: it must be seen, and is not retried. */
export class HistoryBug extends Error {
  override readonly name = "HistoryBug";
}

/** The same for every request of a conversation until it is compacted, so that the requests use the same cache. */
export function cacheKeyOf(system: string, history: readonly Entry[]): string {
  const first = history[0];
  const known = first && cacheKeys.get(first);
  if (known !== undefined) return known;
  const seed = first === undefined ? system : JSON.stringify(first);
  const key = createHash("sha256").update(seed).digest("hex").slice(0, 32);
  if (first) cacheKeys.set(first, key);
  return key;
}

const cacheKeys = new WeakMap<Entry, string>();

function assistantPart(part: Part, foreign: boolean, quirks: ProviderQuirks): AssistantPart | null {
  switch (part.type) {
    case "text": {
      const text = wellFormed(part.text);
      if (foreign || part.meta === undefined) return text === "" ? null : { type: "text", text };
      return { type: "text", text, providerOptions: optionsOf(part.meta) };
    }
    case "reasoning":
      if (foreign) return null;
      return {
        type: "reasoning",
        text: wellFormed(part.text),
        ...(part.meta && { providerOptions: optionsOf(part.meta) }),
      };
    case "call": {
      const own = foreign ? quirks.foreignCall && { [quirks.key]: quirks.foreignCall } : part.meta;
      return {
        type: "tool-call",
        toolCallId: foreign ? plainId(part.id) : part.id,
        toolName: plainName(part.name),
        input: quirks.wantsCallsAsJson ? JSON.stringify(argumentsOf(part.args)) : argumentsOf(part.args),
        ...(own && { providerOptions: optionsOf(own) }),
      };
    }
    case "native":
      // A source is for people: what the provider needs of it is in its search results.
      if (foreign || part.part.type === "source") return null;
      return part.part as unknown as AssistantPart;
  }
}

function resultPart(entry: ResultEntry, foreign: boolean, quirks: ProviderQuirks): LanguageModelV4ToolResultPart {
  const value = wellFormed(entry.content);
  const shown = "shown" in entry ? (entry as ShownResult).shown : undefined;
  return {
    type: "tool-result",
    toolCallId: foreign ? plainId(entry.call_id) : entry.call_id,
    toolName: plainName(entry.tool),
    output: shown
      ? { type: "content", value: [{ type: "text", text: value }, pictureOf(shown)] }
      : entry.ok || !quirks.marksFailedResults
        ? { type: "text", value }
        : { type: "error-text", value },
  };
}

function pictureOf({ media_type, data }: ShownResult["shown"]) {
  return { type: "file" as const, mediaType: media_type, data: { type: "data" as const, data } };
}

/**
 * The end of the system prompt, of what was sent last time, and of what is sent now. The middle one is where the
 * provider has a cache entry; without it a turn with many calls would be too long to find it again.
 */
function markPrefixes(prompt: LanguageModelV4Prompt, mark: SharedV4ProviderOptions): void {
  const lastReply = prompt.findLastIndex((message) => message.role === "assistant");
  for (const at of new Set([0, lastReply - 1, prompt.length - 1])) {
    const message = prompt[at];
    if (message === undefined) continue;
    if (message.role === "system") {
      prompt[at] = { ...message, providerOptions: mark };
    } else if (message.role === "user" || message.role === "tool") {
      const last = { ...message.content.at(-1), providerOptions: mark };
      prompt[at] = { ...message, content: [...message.content.slice(0, -1), last] } as LanguageModelV4Message;
    }
  }
}

function endOfWords(history: readonly Entry[], start: number): number {
  let end = start + 1;
  while (isWords(history[end])) end++;
  return end;
}

function isWords(entry: Entry | undefined): boolean {
  return entry?.role === "user" || entry?.role === "summary";
}

function wordsOf(entry: Entry): string {
  if (entry.role === "summary") return wellFormed(`[Summary of the conversation so far]\n\n${entry.content}`);
  return entry.role === "user" ? wellFormed(entry.content) : "";
}

/** Providers take an object and nothing else; what the model sent instead stays readable for it. */
function argumentsOf(args: unknown): JSONObject {
  if (typeof args === "string") return { invalid_json: wellFormed(args) };
  const sendable = wellFormedJson(args);
  if (sendable instanceof Object && !Array.isArray(sendable)) return sendable as JSONObject;
  return { value: (sendable ?? null) as JSONObject };
}

/** A name the model made up is sent back too, and providers are strict about names. */
function plainName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "unknown";
}

function plainId(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64);
}

function optionsOf(meta: Record<string, unknown>): SharedV4ProviderOptions {
  return meta as SharedV4ProviderOptions;
}

function unanswered(call: CallPart, reply: ReplyEntry): Error {
  return new HistoryBug(
    `Bug: the call ${call.id} of ${call.name} by ${reply.model} has no result, or more than one, right behind its reply. ` +
      "Store exactly one result for every call before the model is asked again.",
  );
}

function orphan(entry: ResultEntry, at: number): Error {
  return new HistoryBug(
    `Bug: entry ${at} of the history is a result of ${entry.tool} (${entry.call_id}) whose call is not right before it. ` +
      "A summary may not separate a call from its result.",
  );
}
