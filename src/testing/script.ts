import { type Model, ModelFailure, type ModelRequest } from "../models/model.ts";
import { callsOf, type Entry, NO_USAGE, type Part, type ReplyEntry } from "../protocol/index.ts";
import type { ScriptMove, ScriptStep } from "./script-step.ts";

/**
 * A model that plays a script, reply by reply.
 *
 * ```ts
 * const coordinator = script(
 *   call("create_work_node", { task: "Measure chip A" }),
 *   call("finish", { summary: "80" }).after("node-1 completed"),
 * );
 * // … run it …
 * coordinator.assertDone();
 * ```
 *
 * SCRIPT-1. One step is played per reply, in order, once.
 * SCRIPT-2. A step that is not yet due costs nothing: the model says `…`, calls nothing, and keeps the step. A worker
 *     that waits for news after such a reply comes back with more to hear; a nudge gets another `…`.
 * SCRIPT-3. Heard means told: by a person, a worker, a tool or a summary. What the model says itself it has not heard.
 *     What was heard once stays heard, even when a summary hides it.
 * SCRIPT-4. A reply asked for beyond the last step fails at once, and `assertDone` fails for it again, should anyone
 *     have swallowed it; `assertDone` also fails while steps are left.
 * SCRIPT-5. Steps that only wait for messages are passed over when the step after them is due by what was heard: mail
 *     may come before anyone waits for it, and nobody waits for what they know. A model that waits also hears
 *     what colleagues end; a row of waits is for as many as may end first.
 * SCRIPT-6. It is a whole model: it reports its own failures to `onFailure`, so it needs no retry around it.
 */
export function script(...steps: ScriptStep[]): ScriptedModel {
  return new ScriptedModel(steps, {});
}

/** What a scripted model says while its next step is not yet due. */
export const SILENCE = "…";

export interface ScriptOptions {
  id?: string;
  contextWindow?: number;
  searchesWeb?: boolean;
}

/** What a request held when it was made; the history it points at grows on. */
export type HeardRequest = Pick<ModelRequest, "system" | "history" | "tools">;

export class ScriptedModel implements Model {
  readonly id: string;
  readonly contextWindow: number;
  readonly searchesWeb: boolean;
  /** Every request so far, for assertions. */
  readonly requests: HeardRequest[] = [];
  /** How many steps have been played. */
  played = 0;

  readonly #steps: readonly ScriptStep[];
  readonly #options: ScriptOptions;
  readonly #heard = new Set<string>();
  readonly #problems: string[] = [];
  #calls = 0;

  constructor(steps: readonly ScriptStep[], options: ScriptOptions) {
    this.#steps = steps;
    this.#options = options;
    this.id = options.id ?? "scripted/model";
    this.contextWindow = options.contextWindow ?? 200_000;
    this.searchesWeb = options.searchesWeb ?? false;
  }

  /** The same script as another model: `script(…).with({ contextWindow: 4_000 })`. */
  with(options: ScriptOptions): ScriptedModel {
    return new ScriptedModel(this.#steps, { ...this.#options, ...options });
  }

  async reply(request: ModelRequest, signal: AbortSignal): Promise<ReplyEntry> {
    signal.throwIfAborted();
    this.requests.push({ system: request.system, history: [...request.history], tools: request.tools });
    this.#listen(request.history);
    for (;;) {
      while (this.#waitsForTheKnown()) this.played++;
      const step = this.#steps[this.played] ?? this.#beyondTheEnd(request.history);
      if (!this.#isDue(step)) return this.#replyOf({ kind: "reply", text: SILENCE, calls: [], details: {} }, request);
      if (step.condition.ready) await orAborted(step.condition.ready, signal);
      this.played++;
      if (step.move.kind === "reply") return this.#replyOf(step.move, request);
      reportFailure(step.move, this.id, request);
    }
  }

  /** Throws unless every step was played and nothing more was asked for. */
  assertDone(): void {
    const left = this.#steps.slice(this.played);
    const problems = [...this.#problems];
    if (left.length > 0) problems.push(this.#unplayed(left));
    if (problems.length > 0) throw new Error(problems.join("\n"));
  }

  #listen(history: readonly Entry[]) {
    const wanted = new Set(this.#steps.slice(this.played).flatMap((step) => step.condition.heard));
    for (const words of wanted) {
      if (!this.#heard.has(words) && history.some((entry) => tells(entry, words))) this.#heard.add(words);
    }
  }

  #waitsForTheKnown(): boolean {
    const left = this.#steps.slice(this.played);
    const next = left.find((step) => !onlyWaits(step.move));
    return next !== undefined && next !== left[0] && next.condition.heard.length > 0 && this.#isDue(next);
  }

  #isDue(step: ScriptStep): boolean {
    return step.condition.heard.every((words) => this.#heard.has(words));
  }

  #replyOf(move: Extract<ScriptMove, { kind: "reply" }>, { history, onDelta }: ModelRequest): ReplyEntry {
    const { usage, cost_usd = 0, thinking, finish } = move.details;
    const content: Part[] = [];
    if (thinking !== undefined) {
      content.push({ type: "reasoning", text: thinking });
      for (const text of wordsOf(thinking)) onDelta?.({ kind: "reasoning", text });
    }
    if (move.text !== "") {
      content.push({ type: "text", text: move.text });
      for (const text of wordsOf(move.text)) onDelta?.({ kind: "text", text });
    }
    // A conversation may be older than this script (a restart), and two calls of one conversation never share an id.
    this.#calls = Math.max(this.#calls, callsIn(history));
    for (const { name, args } of move.calls) content.push({ type: "call", id: `call-${++this.#calls}`, name, args });
    return {
      role: "assistant",
      content,
      model: this.id,
      usage: { ...NO_USAGE, ...usage },
      cost_usd,
      finish: finish ?? (move.calls.length > 0 ? "tool-calls" : "stop"),
    };
  }

  #beyondTheEnd(history: readonly Entry[]): never {
    const problem =
      `The script of ${this.id} has ${this.#steps.length} steps, and one more reply was asked for` +
      ` after ${lastWords(history)}. Add a step, or let the last one end the work.`;
    this.#problems.push(problem);
    throw new Error(problem);
  }

  #unplayed(left: readonly ScriptStep[]): string {
    const missing = left[0]?.condition.heard.filter((words) => !this.#heard.has(words)) ?? [];
    const why =
      missing.length === 0
        ? "No further reply was asked for."
        : `The first of them waits for words that were never heard: ${missing.map((words) => JSON.stringify(words)).join(", ")}.`;
    const steps = left.map((step, at) => `\n  ${this.played + at + 1}. ${step.describe()}`).join("");
    return `The script of ${this.id} was left with ${left.length} of ${this.#steps.length} steps unplayed. ${why}${steps}`;
  }
}

function onlyWaits(move: ScriptMove): boolean {
  if (move.kind !== "reply" || move.calls.length !== 1) return false;
  const [call] = move.calls;
  return call?.name === "check_messages" && (call.args as { wait?: boolean }).wait === true;
}

/** Throws when the failure is the last; returns when the model tries again. */
function reportFailure(move: Extract<ScriptMove, { kind: "fail" }>, id: string, request: ModelRequest) {
  const { message, status, retryAfterMs, retriedInMs } = move.details;
  const failure = new ModelFailure(move.reason, message ?? `${id} failed as its script says: ${move.reason}`, {
    retryable: retriedInMs !== undefined || !["bad_request", "context_too_long", "auth"].includes(move.reason),
    ...(status === undefined ? {} : { status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
  request.onFailure?.(failure, retriedInMs ?? null);
  if (retriedInMs === undefined) throw failure;
}

function tells(entry: Entry, words: string): boolean {
  return entry.role !== "assistant" && entry.content.includes(words);
}

function callsIn(history: readonly Entry[]): number {
  return history.reduce((count, entry) => count + (entry.role === "assistant" ? callsOf(entry).length : 0), 0);
}

function lastWords(history: readonly Entry[]): string {
  const last = history.findLast((entry) => entry.role !== "assistant");
  if (last === undefined) return "nothing was said";
  const who = last.role === "user" ? last.from : last.role === "tool" ? `the result of ${last.tool}` : last.role;
  return `${who} said ${JSON.stringify(last.content.slice(0, 200))}`;
}

function wordsOf(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+/g) ?? [text];
}

async function orAborted(ready: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    await Promise.race([ready, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
  signal.throwIfAborted();
}
