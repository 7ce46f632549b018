import { type Model, ModelFailure } from "../../models/model.ts";
import {
  bytesFor,
  contextTokens,
  entryTokens,
  estimateTokens,
  firstSinceSummary,
  NEAR,
  toolTokens,
} from "../../models/tokens.ts";
import {
  type CallPart,
  callsOf,
  type Entry,
  type Outcome,
  type ReplyEntry,
  type SummaryEntry,
  type UserEntry,
} from "../../protocol/index.ts";
import type { Tools } from "../../tools/toolbox.ts";
import { openFlush, sinceSummary } from "./past.ts";
import { addShown } from "./shown-history.ts";
import { boundedSummary, lastReply, notesIn, type SummarySection } from "./summary.ts";
import { runCalls } from "./tool-calls.ts";
import { tailWithin, trimmed } from "./trimming.ts";

/** What a compaction needs to know about a conversation. */
export interface Compactable {
  /** The words that ask to write down what must not be lost. */
  flushWords(): Promise<string>;
  /** The most tokens that a conversation may take, however large the model's window is. */
  window?: number;
  /** True once after each long sleep: no provider has the conversation in its cache, so all of it would be paid again. */
  wokeLate?(): boolean;
  /** How things stand now: from the record and the files, never from what the model said. */
  restate(): Promise<SummarySection[]>;
}

interface CompactionPorts {
  model: Model;
  toolbox: Tools;
  mail(): UserEntry[];
}

/** What the model replied, or how the work ended instead. */
export type ReplyOrEnding = { reply: ReplyEntry } | { ending: Outcome };

/** How many turns it may take to write things down. */
const FLUSH_TURNS = 3;
/** Of the room left by the prompt and the tools: what the summary, and what the last turns may take. */
const SUMMARY_SHARE = 0.35;
const KEPT_SHARE = 0.25;
const KEPT_TURNS = 10;
/** However small the window, this much room is assumed: the provider says whether a request fits. */
const LEAST_ROOM = 1_000;
/** Of the window: what a request to write things down may take, and what it may when that was refused. */
const FLUSH_SHARES = [0.85, 0.4, 0.2];
const MOST_FRUITLESS = 2;
/** In tokens, after a long sleep: what may have been said since the last summary, and what a new one may take and keep. */
const MOST_AT_WAKING = 4_000;
const SUMMARY_AT_WAKING = 8_000;
const KEPT_AT_WAKING = 1_500;

/**
 * Keeps a conversation within its model's window: near its end, the conversation is compacted before the model is asked.
 *
 * COMPACTION-1. On every path the model first writes down what must not be lost. If there is no room for that, old
 *     results are cut for that one request. An agent that sleeps has done so before (`BEFORE_SLEEP`), and wakes to a
 *     summary at no cost.
 * COMPACTION-2. Nothing is deleted and nothing copied: the summary hides what was before it and says how many of the
 *     last entries it keeps. A call and its results are never separated, and what has no answer yet is kept or
 *     restated.
 * COMPACTION-3. After a crash in the middle it resumes there: the conversation holds the flush and how far it came.
 * COMPACTION-4. It ends: a refused request is compacted once and sent once more; two compactions in a row that did not
 *     get below the limit are the last.
 */
export class Compaction {
  readonly #system: string;
  readonly #model: Model;
  readonly #toolbox: Tools;
  readonly #mail: () => UserEntry[];
  readonly #compactable: Compactable | null;
  readonly #overhead: number;
  /** What the model is known to take, or less when its provider has refused less. */
  #window: number;
  #fruitless = 0;

  constructor(system: string, { model, toolbox, mail }: CompactionPorts, compactable: Compactable | null) {
    this.#system = system;
    this.#model = model;
    this.#toolbox = toolbox;
    this.#mail = mail;
    this.#compactable = compactable;
    this.#overhead = estimateTokens(system) + toolTokens(toolbox.specs);
    this.#window = Math.min(model.contextWindow, compactable?.window ?? Number.POSITIVE_INFINITY);
  }

  /** Asks for the reply to a history, which it may first compact in place; what it yields is already in the history. */
  async *replyTo(history: Entry[], signal: AbortSignal): AsyncGenerator<Entry, ReplyOrEnding> {
    const compactable = this.#compactable;
    if (compactable === null) return { reply: await this.#reply(history, signal) };
    if (compactable.wokeLate?.() && openFlush(history) < 0 && isLongToWakeTo(history))
      yield* this.#goOnFrom(this.#summaryAtWaking(history, await compactable.restate()), history);
    if (openFlush(history) < 0 && this.#isFull(history)) {
      this.#fruitless = this.#wasFruitless(history) ? this.#fruitless + 1 : 0;
      if (this.#fruitless >= MOST_FRUITLESS) return { ending: this.#noRoom() };
      yield* this.#begin(history, compactable);
    }
    if (openFlush(history) >= 0) {
      const ending = yield* this.#compact(history, compactable, signal);
      if (ending) return { ending };
    }
    try {
      return { reply: await this.#reply(history, signal) };
    } catch (error) {
      if (!isTooLong(error)) throw error;
      this.#refused(contextTokens(history, this.#overhead));
    }
    yield* this.#begin(history, compactable);
    const ending = yield* this.#compact(history, compactable, signal);
    return ending ? { ending } : { reply: await this.#reply(history, signal) };
  }

  #reply(history: readonly Entry[], signal: AbortSignal): Promise<ReplyEntry> {
    return this.#model.reply({ system: this.#system, history, tools: this.#toolbox.specs }, signal);
  }

  async *#begin(history: Entry[], compactable: Compactable): AsyncGenerator<Entry, void> {
    const words: UserEntry = { role: "user", from: "agiraph", content: await compactable.flushWords(), flush: true };
    history.push(words);
    yield words;
  }

  async *#compact(
    history: Entry[],
    compactable: Compactable,
    signal: AbortSignal,
  ): AsyncGenerator<Entry, Outcome | undefined> {
    const ending = yield* this.#flush(history, signal);
    if (ending) return ending;
    yield* this.#goOnFrom(this.#summarise(history, await compactable.restate()), history);
    // What came while things were written down.
    const news = this.#mail();
    for (const entry of news) addShown(history, entry);
    yield* news;
    return undefined;
  }

  *#goOnFrom(summary: SummaryEntry, history: Entry[]): Generator<Entry, void> {
    history.push(summary);
    history.splice(0, history.length, ...sinceSummary(history));
    yield summary;
  }

  /** Until it has nothing more to write down, its turns for that are used, or no request is short enough. */
  async *#flush(history: Entry[], signal: AbortSignal): AsyncGenerator<Entry, Outcome | undefined> {
    for (;;) {
      const turns = history.slice(openFlush(history)).filter((entry) => entry.role === "assistant");
      const last = turns.at(-1);
      if (turns.length >= FLUSH_TURNS || (last && callsOf(last).length === 0)) return undefined;
      const reply = await this.#flushReply(history, signal);
      if (!reply) return undefined;
      history.push(reply);
      yield reply;
      const ending = yield* runCalls(reply, history, this.#toolbox, whyNotInFlush, signal);
      if (ending) return ending;
    }
  }

  async #flushReply(history: readonly Entry[], signal: AbortSignal): Promise<ReplyEntry | undefined> {
    const window = this.#window;
    for (const share of FLUSH_SHARES) {
      const short = trimmed(history, Math.max(LEAST_ROOM, window * share - this.#overhead));
      try {
        return await this.#reply(short, signal);
      } catch (error) {
        if (!isTooLong(error)) throw error;
        this.#refused(this.#overhead + entryTokens(short));
      }
    }
    return undefined;
  }

  #summarise(history: readonly Entry[], record: readonly SummarySection[]): SummaryEntry {
    const flush = openFlush(history);
    const shown = history.slice(0, flush);
    const notes = { title: "What you noted just now", text: notesIn(history.slice(flush)) };
    const room = { summary: this.#room * SUMMARY_SHARE, kept: this.#room * KEPT_SHARE };
    return this.#summaryOf(shown, [...record, notes], room, history.length);
  }

  /** What woke it is shown whole. */
  #summaryAtWaking(history: readonly Entry[], record: readonly SummarySection[]): SummaryEntry {
    const news = entryTokens(history.slice(1 + history.findLastIndex(({ role }) => role !== "user")));
    const room = {
      summary: Math.min(SUMMARY_AT_WAKING, this.#room * SUMMARY_SHARE),
      kept: Math.min(KEPT_AT_WAKING + news, this.#room * KEPT_SHARE),
    };
    return this.#summaryOf(history, record, room, history.length);
  }

  #summaryOf(
    shown: readonly Entry[],
    record: readonly SummarySection[],
    room: { summary: number; kept: number },
    entries: number,
  ): SummaryEntry {
    const from = tailWithin(shown, room.kept, KEPT_TURNS);
    const sections = [...record, { title: "Your last step", text: lastReply(shown, from) }];
    const content = boundedSummary(sections, bytesFor(room.summary));
    const kept = shown.slice(from);
    const tokens = {
      before: contextTokens(shown, this.#overhead),
      after: this.#overhead + estimateTokens(content) + entryTokens(kept),
    };
    return { role: "summary", content, kept: kept.length, hidden: entries - kept.length, tokens };
  }

  get #limit(): number {
    return this.#window * NEAR;
  }

  get #room(): number {
    return Math.max(LEAST_ROOM, this.#limit - this.#overhead);
  }

  /** Near the limit, with something in it that a summary could hide. */
  #isFull(history: readonly Entry[]): boolean {
    if (isFresh(history) || contextTokens(history, this.#overhead) < this.#limit) return false;
    return entryTokens(history) > LEAST_ROOM * (SUMMARY_SHARE + KEPT_SHARE);
  }

  /** The compaction before this one, by our estimate or by the provider's first count after it. */
  #wasFruitless(history: readonly Entry[]): boolean {
    const [head] = history;
    if (head?.role !== "summary") return false;
    const first = history.slice(firstSinceSummary(history)).find((entry) => entry.role === "assistant");
    return Math.max(head.tokens?.after ?? 0, first?.usage.input ?? 0) >= this.#limit;
  }

  #refused(tokens: number): void {
    this.#window = Math.min(this.#window, tokens);
  }

  #noRoom(): Outcome {
    const error =
      `The window of ${this.#model.id} (${this.#model.contextWindow} tokens) is too small for this work: its prompt and ` +
      `tools take about ${this.#overhead} of them, and compacting the conversation did not help. Use a model with a ` +
      "larger window, or make the work smaller.";
    return { kind: "abandoned", error };
  }
}

/** So much was said since the last summary that an agent that sleeps long now wakes to another one. */
export function isLongToWakeTo(history: readonly Entry[]): boolean {
  return entryTokens(history.slice(history[0]?.role === "summary" ? 1 : 0)) > MOST_AT_WAKING;
}

/** Nothing was said since the summary, so there is nothing more to compact. */
function isFresh(history: readonly Entry[]): boolean {
  return (
    history[0]?.role === "summary" &&
    !history.slice(firstSinceSummary(history)).some((entry) => entry.role === "assistant")
  );
}

const WAITING = new Set(["ask_human", "check_messages"]);

/** Calls that wait are not made while things are written down: they would wait with a full window. */
export function whyNotInFlush(call: CallPart): string | undefined {
  return WAITING.has(call.name)
    ? "write down what must not be lost first, then call this again when the conversation is compacted"
    : undefined;
}

function isTooLong(error: unknown): boolean {
  return error instanceof ModelFailure && error.reason === "context_too_long";
}
