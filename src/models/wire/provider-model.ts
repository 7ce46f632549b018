import type { JSONObject } from "@ai-sdk/provider";
import { NO_USAGE, type Part, type ReplyEntry, type Usage, usagePlus } from "../../protocol/index.ts";
import { type FailureReason, type Model, ModelFailure, type ModelRequest } from "../model.ts";
import { modelFailureOf, notAReply, type ProviderContact, truncated } from "../model-failure.ts";
import { type Attempt, type AttemptLimits, type BreakReason, beginAttempt, type StartTimer } from "./attempt.ts";
import { HistoryBug } from "./prompt-writer.ts";
import type { ProviderQuirks } from "./provider-quirks.ts";
import { ReplyReader, usageOf } from "./reply-reader.ts";
import type { Wire } from "./wire.ts";

/**
 * A Model over any wire (an AI SDK package, or our own chat completions).
 *
 * PROVIDER-MODEL-1. A reply is complete or it is a failure. No call is ever returned from a reply that broke off,
 *     stalled or flooded us.
 * PROVIDER-MODEL-2. One request, one attempt. Retrying is up to retry.ts.
 * PROVIDER-MODEL-3. The caller's signal is checked before any error: a stopped request rejects with the signal's
 *     reason, at once.
 * PROVIDER-MODEL-4. If a provider pauses its own long turn, we send it back so that it continues; for us it is one
 *     reply.
 * PROVIDER-MODEL-5. A reply that was cut at the output limit before it contained anything is a reply, too: the model
 *     has to be told.
 */
export interface ProviderModelPorts {
  /** Called after the request is on its way, so that loading prices costs no time. */
  costOf(usage: Usage, reported: number | undefined): Promise<number | null>;
  startTimer: StartTimer;
  now(): number;
  /** What a person can do about a request that the provider refused with these words. */
  adviceOn?(said: string): string | undefined;
}

export interface ProviderModelSettings extends ProviderContact {
  /** As people write it, `provider/model`. */
  id: string;
  wire: Wire;
  quirks: ProviderQuirks;
  contextWindow: number;
  searchesWeb: boolean;
  seesPictures?: boolean;
  stallMs?: number;
  maxReplyChars?: number;
}

const MAX_PAUSES = 8;
const MAX_REPLY_CHARS = 2 * 1024 * 1024;
/** On the wire a token comes with up to fifty times its size of wrapping. */
const WRAPPING = 50;
/** The longest event repeats the whole reply, with its letters escaped. */
const EVENT_WRAPPING = 4;
/** Models think for many minutes without a word, while their provider pings. */
export const QUIET_MS = 30 * 60_000;
export const LONGEST_MS = 6 * 60 * 60_000;

export function createProviderModel(settings: ProviderModelSettings, ports: ProviderModelPorts): Model {
  const { id, contextWindow, searchesWeb, seesPictures = false } = settings;
  const provider = new ProviderModel(settings, ports);
  return {
    id,
    contextWindow,
    searchesWeb,
    seesPictures,
    reply: (request, signal) => provider.reply(request, signal),
  };
}

class ProviderModel {
  readonly #id: string;
  readonly #wire: Wire;
  readonly #quirks: ProviderQuirks;
  readonly #contact: ProviderContact;
  readonly #ports: ProviderModelPorts;
  readonly #maxChars: number;
  readonly #limits: Required<AttemptLimits>;

  constructor(settings: ProviderModelSettings, ports: ProviderModelPorts) {
    this.#id = settings.id;
    this.#wire = settings.wire;
    this.#quirks = settings.quirks;
    this.#contact = settings;
    this.#ports = ports;
    this.#maxChars = settings.maxReplyChars ?? MAX_REPLY_CHARS;
    this.#limits = {
      stallMs: settings.stallMs ?? settings.quirks.stallMs,
      maxBytes: this.#maxChars * WRAPPING,
      maxEventBytes: this.#maxChars * EVENT_WRAPPING,
      quietMs: QUIET_MS,
      longestMs: LONGEST_MS,
      startTimer: ports.startTimer,
      now: ports.now,
    };
  }

  async reply(request: ModelRequest, signal: AbortSignal): Promise<ReplyEntry> {
    signal.throwIfAborted();
    const content: Part[] = [];
    let usage = NO_USAGE;
    let reported: number | undefined;
    for (let pauses = 0; ; pauses++) {
      const { reader, finish } = await this.#stream(request, content, signal);
      content.push(...reader.content);
      usage = usagePlus(usage, usageOf(finish.usage));
      reported = costIn(finish.providerMetadata, this.#quirks.costAt, reported);
      const pausedHere = this.#quirks.pause !== null && finish.finishReason.raw === this.#quirks.pause;
      if (pausedHere && pauses < MAX_PAUSES) continue;
      const { unified } = finish.finishReason;
      const said = this.#saidIn(content, unified);
      const cost_usd = await this.#ports.costOf(usage, reported);
      return { role: "assistant", content: said, model: this.#id, usage, cost_usd, finish: unified };
    }
  }

  /** One streamed answer, whole. */
  async #stream(request: ModelRequest, said: readonly Part[], outer: AbortSignal): Promise<WholeReply> {
    const attempt = beginAttempt(outer, this.#limits);
    const reader = new ReplyReader(this.#quirks, request);
    const maxChars = this.#maxChars;
    try {
      await this.#wire.ask(request, said, attempt, (part) => {
        const before = reader.size;
        reader.take(part);
        if (reader.size > before) attempt.said();
        if (reader.size > maxChars) attempt.heard(Number.POSITIVE_INFINITY);
        return reader.error === undefined && attempt.broken === null;
      });
    } catch (error) {
      throw brokenOff(this.#id, attempt, outer, this.#limits) ?? this.#failed(error, reader, attempt);
    } finally {
      attempt.close();
    }
    const broken = brokenOff(this.#id, attempt, outer, this.#limits);
    if (broken !== undefined) throw broken;
    const problem = this.#problemIn(reader);
    if (problem !== undefined) throw this.#failed(problem, reader, attempt);
    if (reader.finish === undefined) throw truncated(this.#id);
    return { reader, finish: reader.finish };
  }

  /** Why this is not a whole reply. */
  #problemIn({ error, finish, skipped }: ReplyReader): unknown {
    if (error !== undefined) return error.cut ? truncated(this.#id) : error.cause;
    if (finish === undefined) return truncated(this.#id);
    const { unified, raw } = finish.finishReason;
    if (unified === "interrupted" || (this.#quirks.namesFinish && raw === undefined)) return truncated(this.#id);
    // An undocumented chunk makes one SDK call the whole reply an error, although it came to its end with its usage.
    const cameToItsEnd = raw === undefined && skipped > 0 && finish.usage.inputTokens.total !== undefined;
    if (unified !== "error" || cameToItsEnd) return undefined;
    return new ModelFailure("unreadable", `${this.#id} ended its reply with an error (${raw ?? "unnamed"}).`, {
      retryable: true,
    });
  }

  #saidIn(content: readonly Part[], finish: ReplyEntry["finish"]): Part[] {
    const kept = content.filter(isWorthKeeping);
    if (kept.some(says)) return kept;
    if (finish === "length") return [NOTHING_BEFORE_THE_CUT];
    throw empty(this.#id, finish);
  }

  #failed(error: unknown, { began }: ReplyReader, { opening }: Attempt): unknown {
    if (error instanceof HistoryBug) return error;
    const failure = modelFailureOf(error, this.#id, this.#ports.now(), this.#contact);
    if (began || !UNREAD.includes(failure.reason)) return withAdvice(failure, this.#ports.adviceOn);
    return notAReply(this.#id, opening, this.#contact);
  }
}

/** What parsers make of an answer that is not a reply. */
const UNREAD: readonly FailureReason[] = ["truncated", "unreadable"];

interface WholeReply {
  reader: ReplyReader;
  finish: NonNullable<ReplyReader["finish"]>;
}

/** Why the attempt was ended before its reply was whole; undefined if it was not. */
export function brokenOff(id: string, { broken }: Attempt, outer: AbortSignal, limits: ReplyLimits): unknown {
  if (outer.aborted) return outer.reason;
  if (broken === null || broken === "stopped") return undefined;
  const [reason, retryable, what] = BREAKS[broken](limits);
  return new ModelFailure(reason, `${id} ${what}; the request was dropped.`, { retryable });
}

type Break = [reason: FailureReason, retryable: boolean, what: string];
type ReplyLimits = { stallMs: number; maxBytes: number; maxEventBytes: number };

const BREAKS: Record<Exclude<BreakReason, "stopped">, (limits: ReplyLimits) => Break> = {
  stalled: ({ stallMs }) => ["stalled", true, `sent nothing for ${Math.round(stallMs / 1000)} s`],
  quiet: () => ["stalled", true, `sent nothing but keep-alives for ${QUIET_MS / 60_000} min`],
  endless: () => ["stalled", true, `did not finish its reply within ${LONGEST_MS / 3_600_000} h`],
  flooded: ({ maxBytes }) => ["unreadable", false, `sent a reply of more than ${megabytes(maxBytes / WRAPPING)} MB`],
  overlong: ({ maxEventBytes }) => [
    "unreadable",
    false,
    `sent more than ${megabytes(maxEventBytes)} MB without the end of an event`,
  ],
};

function megabytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}

function isWorthKeeping(part: Part): boolean {
  return (part.type !== "text" && part.type !== "reasoning") || part.text !== "" || part.meta !== undefined;
}

/** Thoughts alone are not a reply. */
function says(part: Part): boolean {
  return part.type === "text" ? part.text.trim() !== "" : part.type === "call" || part.type === "native";
}

/** Asked again in the same way it would only think as long again: it has to be told, and a reply has to hold something. */
const NOTHING_BEFORE_THE_CUT: Part = { type: "text", text: "[cut off at the output limit before anything was said]" };

function withAdvice(failure: ModelFailure, adviceOn: ProviderModelPorts["adviceOn"]): ModelFailure {
  const advice = failure.reason === "bad_request" ? adviceOn?.(failure.message) : undefined;
  if (advice === undefined) return failure;
  const { reason, message, retryable, status } = failure;
  return new ModelFailure(reason, `${message} ${advice}`, { retryable, ...(status !== undefined && { status }) });
}

function empty(id: string, finish: string): ModelFailure {
  if (finish === "content-filter") {
    return new ModelFailure(
      "empty",
      `The provider's filter withheld the reply of ${id}. Put the request differently.`,
      {
        retryable: false,
      },
    );
  }
  return new ModelFailure("empty", `${id} replied with neither text nor tool calls (finish reason: ${finish}).`, {
    retryable: true,
  });
}

/** What no reply costs is not believed, and the price list is asked. */
const MOST_USD = 1e6;

function costIn(
  metadata: JSONObject | undefined,
  path: readonly string[] | null,
  before: number | undefined,
): number | undefined {
  if (path === null) return before;
  let value: unknown = metadata;
  for (const key of path) value = value instanceof Object ? Reflect.get(value, key) : undefined;
  return typeof value === "number" && value >= 0 && value <= MOST_USD ? (before ?? 0) + value : before;
}
