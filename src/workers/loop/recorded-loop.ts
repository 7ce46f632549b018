import { ModelFailure, type ModelRequest } from "../../models/model.ts";
import type { Situation } from "../../projections/index.ts";
import type { Clock } from "../../protocol/clock.ts";
import {
  type CallPart,
  callsOf,
  type Entry,
  HUMAN,
  type NewFact,
  type NodeId,
  type Outcome,
  type ReplyEntry,
  textOf,
  type WorkerId,
} from "../../protocol/index.ts";
import { StoreError } from "../../store/errors.ts";
import { readPicture } from "../../store/run/picture-files.ts";
import type { AgentLog } from "../../store/store.ts";
import { openFlush } from "./past.ts";
import { BudgetExhausted, type Cost, type Purse } from "./purse.ts";
import { ShownPictures } from "./shown-pictures.ts";
import { type LoopAssignment, type LoopPorts, workLoop } from "./work-loop.ts";

/** Who acts, on which node, and the file in which its words are kept. */
export interface ActingWorker {
  worker_id: WorkerId;
  node_id: NodeId | null;
  conversation: string;
}

export interface Delta {
  worker_id: WorkerId;
  node_id: NodeId | null;
  kind: "text" | "reasoning";
  text: string;
}

export interface Recorder {
  log: AgentLog;
  now(): Situation;
  /** With what is appended and not yet on disk: decisions are based on it. */
  pending(): Situation;
  clock: Clock;
  /** The person's, for dates and times of day. */
  readonly timeZone: string;
  /** Streamed words, for live views. */
  live(delta: Delta): void;
  /** Plain words that answer the human, as a message. */
  aloud?(from: WorkerId, text: string): NewFact;
  /** A message to the human that no tool sends. */
  toHuman?(from: WorkerId, text: string): NewFact;
  /** The home, if its agents share a memory of their human; null if each has only its own. */
  sharedMemory?: string | null;
  /** Shared by the whole team. */
  purse: Purse;
}

/**
 * Runs the loop and keeps the record.
 *
 * RECORD-1. A reply is on disk, with the calls it makes, before any of them begins.
 * RECORD-2. An entry and the facts that follow from it are one append: no crash can part them.
 * RECORD-2a. Every entry is on disk before the outcome is returned, however the work ends: what follows from the end
 *     is decided by them.
 * RECORD-3. What the log could not take is thrown; everything else that goes wrong is an outcome.
 */
export async function runRecordedLoop(
  assignment: LoopAssignment,
  ports: LoopPorts,
  self: ActingWorker,
  recorder: Recorder,
  signal: AbortSignal,
): Promise<Outcome> {
  const { log, clock } = recorder;
  let turn = assignment.turn;
  let lost: unknown;
  let written = Promise.resolve();
  const flush = openFlush(assignment.history);
  let isFlushing = flush >= 0;
  let isAnswering = isFromHuman(assignment.history.at(isFlushing ? flush - 1 : -1));
  const model = modelFacts(ports, self, recorder, () => turn);
  const loop = workLoop(assignment, { ...ports, model }, signal);
  try {
    for (;;) {
      const began = clock.now();
      const step = await loop.next();
      if (step.done) {
        await written;
        return step.value;
      }
      const entry = step.value;
      if (lost !== undefined) throw lost;
      const facts = factsOf(entry, self, turn, clock.now() - began);
      if (isFromHuman(entry)) isAnswering = true;
      if (entry.role === "user" || entry.role === "summary") isFlushing = entry.role === "user" && entry.flush === true;
      // What is said while things are written down does not answer anybody.
      if (entry.role === "assistant" && !isFlushing) {
        const words = isAnswering ? wordsAloud(entry) : "";
        if (words && recorder.aloud) facts.push(recorder.aloud(self.worker_id, words));
        isAnswering = false;
      }
      const { durable } = log.append({ facts, entries: { file: self.conversation, entries: [entry] } });
      // A result need not wait for the disk: nothing but the next reply builds on it, and that one comes after it.
      written = durable;
      if (entry.role === "assistant") await durable;
      else durable.catch((error: unknown) => (lost = error));
      if (entry.role === "assistant") turn += 1;
    }
  } catch (error) {
    // What a worker was told last counts as told, even if there was no money left to think about it.
    if (!(error instanceof StoreError)) await written;
    return outcomeOf(error, signal);
  }
}

export function isFromHuman(entry: Entry | undefined): boolean {
  return entry?.role === "user" && entry.from === HUMAN;
}

/** The plain words of a reply to the human: they are sent as a message. Empty if there are none, or a call speaks. */
export function wordsAloud(reply: ReplyEntry): string {
  const words = textOf(reply).trim();
  const isSpeech = /[\p{L}\p{N}]/u.test(words) && !callsOf(reply).some(({ name }) => SPEAKING.has(name));
  return isSpeech ? words : "";
}

/** Calls that speak to the human themselves. */
const SPEAKING = new Set(["send_message", "ask_human", "finish", "conclude"]);

/** The failures that are ours to report. Anything else is a bug or a broken disk, and is thrown. */
export function outcomeOf(error: unknown, signal: AbortSignal): Outcome {
  if (error instanceof StoreError) throw error;
  const cause: unknown = signal.aborted ? signal.reason : error;
  if (cause instanceof BudgetExhausted) return cause.outcome;
  if (signal.aborted) return { kind: "stopped" };
  if (error instanceof ModelFailure) {
    return { kind: error.reason === "context_too_long" ? "abandoned" : "failed", error: error.message };
  }
  throw error;
}

/** The same model, with each call, failure and warning in the log, and the budget asked first. */
function modelFacts({ model }: LoopPorts, self: ActingWorker, recorder: Recorder, turn: () => number) {
  const { log, live, clock } = recorder;
  const { worker_id, node_id } = self;
  const who = { worker_id, node_id, model: model.id };
  const note = (...facts: NewFact[]) => log.append({ facts }).durable.catch(() => {}); // the next entry will say so
  const pictures = new ShownPictures((picture) => readPicture(log.dir, picture));
  const goOn = () => note({ type: "worker.busy", data: { worker_id, node_id } });
  return {
    id: model.id,
    contextWindow: model.contextWindow,
    searchesWeb: model.searchesWeb,
    seesPictures: model.seesPictures ?? false,
    async reply(request: ModelRequest, signal: AbortSignal) {
      const watched: ModelRequest = {
        ...request,
        onDelta: ({ kind, text }) => live({ worker_id, node_id, kind, text }),
        onFailure: ({ reason, message, status }, retryInMs) => {
          const failure = { reason, message, retry_in_ms: retryInMs, ...(status !== undefined && { status }) };
          note({ type: "model.failed", data: { ...who, turn: turn(), ...failure } });
        },
        onWarning: (message) => note({ type: "model.warned", data: { ...who, message } }),
      };
      for (let waits = 0; ; waits++) {
        const pay = await enterPurse(model.id, self, recorder, signal);
        if (waits === 0) note({ type: "model.called", data: { ...who, turn: turn() } });
        let cost: Cost | undefined;
        let waitMs: number;
        try {
          const reply = await pictures.reply(model, watched, signal);
          cost = { usd: reply.cost_usd, tokens: reply.usage.input + reply.usage.output };
          return reply;
        } catch (error) {
          waitMs = limitWaitOf(error);
          if (signal.aborted || waitMs === 0 || waits >= MOST_LIMIT_WAITS) throw error;
        } finally {
          // Before waiting: a worker that waits for hours must not keep the others from the money.
          pay(cost);
        }
        const until_ts = (clock.now() + waitMs) / 1000;
        note({ type: "worker.waiting", data: { worker_id, node_id, for: "rate_limit", until_ts } });
        await clock.sleep(waitMs, signal);
        goOn();
      }
    },
  };
}

/** Waits until the budget allows one call; resolves with what to call when it has ended. The wait is on record. */
export async function enterPurse(
  model: string,
  { worker_id, node_id }: ActingWorker,
  { log, pending, purse }: Recorder,
  signal: AbortSignal,
): Promise<(cost: Cost | undefined) => void> {
  const note = (...facts: NewFact[]) => log.append({ facts }).durable.catch(() => {}); // the next entry will say so
  // Based on what is about to be on disk, as the purse decides: the warning comes before the end.
  warnOfBudget(pending(), note);
  let waited = false;
  try {
    return await purse.enter(model, node_id, signal, () => {
      waited = true;
      note({ type: "worker.waiting", data: { worker_id, node_id, for: "budget" } });
    });
  } catch (error) {
    if (error instanceof BudgetExhausted && error.exceeded) {
      // The purse knows of replies that are not recorded yet: the end may be seen before the warning was due.
      const warning: NewFact[] = pending().spending.warned ? [] : [{ type: "budget.warned", data: error.exceeded }];
      note(...warning, { type: "budget.exceeded", data: error.exceeded });
    }
    throw error;
  } finally {
    if (waited) note({ type: "worker.busy", data: { worker_id, node_id } });
  }
}

/** Longer than retry.ts waits by itself, and no longer than a day. */
const LIMIT_WAIT_FROM_MS = 60_000;
const LIMIT_WAIT_UPTO_MS = 24 * 3_600_000;
const MOST_LIMIT_WAITS = 24;

/** How long this worker, and only this one, waits for a rate limit. Zero: not at all. */
function limitWaitOf(error: unknown): number {
  return error instanceof ModelFailure && isLongLimit(error) ? (error.retryAfterMs ?? 0) : 0;
}

function isLongLimit({ reason, retryable, retryAfterMs }: ModelFailure): boolean {
  return (
    reason === "rate_limited" &&
    retryable &&
    retryAfterMs !== undefined &&
    retryAfterMs > LIMIT_WAIT_FROM_MS &&
    retryAfterMs <= LIMIT_WAIT_UPTO_MS
  );
}

const WARN_AT = 0.8;

/** One warning is enough: for the first budget that is nearly spent. */
function warnOfBudget({ agent, spending }: Situation, note: (...facts: NewFact[]) => unknown): void {
  const { budget_usd, budget_tokens } = agent.created;
  const { cost_usd: spent_usd, usage } = spending.total;
  const spent_tokens = usage.input + usage.output;
  if (spending.warned) return;
  if (budget_usd !== null && spent_usd >= WARN_AT * budget_usd)
    note({ type: "budget.warned", data: { spent_usd, budget_usd } });
  else if (budget_tokens !== undefined && spent_tokens >= WARN_AT * budget_tokens)
    note({ type: "budget.warned", data: { spent_usd, spent_tokens, budget_tokens } });
}

function factsOf(entry: Entry, { worker_id, node_id }: ActingWorker, turn: number, ms: number): NewFact[] {
  const who = { worker_id, node_id };
  switch (entry.role) {
    case "assistant": {
      const { model, usage, cost_usd, finish } = entry;
      return [
        { type: "model.responded", data: { ...who, model, turn, usage, cost_usd, finish, ms: Math.round(ms) } },
        ...callsOf(entry).map(
          (call): NewFact => ({
            type: "tool.called",
            data: { ...who, call_id: call.id, tool: call.name, gist: gistOfCall(call) },
          }),
        ),
      ];
    }
    case "tool": {
      const { call_id, tool, ok, content } = entry;
      return [
        {
          type: "tool.result",
          data: { ...who, call_id, tool, ok, ms: Math.round(ms), gist: gistOfText(content) },
        },
      ];
    }
    case "user":
      return (entry.messages ?? []).map((message_id) => ({
        type: "message.received",
        data: { message_id, by: worker_id },
      }));
    case "summary": {
      const { hidden = 0, tokens = { before: 0, after: 0 } } = entry;
      const sizes = { entries: hidden, tokens_before: tokens.before, tokens_after: tokens.after };
      return [{ type: "memory.compacted", data: { ...who, ...sizes } }];
    }
    default:
      return [];
  }
}

/** What a person wants to see of a call in one line: the path, the command, the query. */
export function gistOfCall(call: CallPart): string {
  const args = call.args;
  if (typeof args !== "object" || args === null) return gistOfText(String(args));
  const first = Object.values(args).find((value) => typeof value === "string");
  return gistOfText(first ?? JSON.stringify(args));
}

export function gistOfText(text: string): string {
  const line = text.trimStart().split("\n", 1)[0] ?? "";
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}
