import type { Model } from "../models/model.ts";
import {
  type CallPart,
  callsOf,
  type Entry,
  type Outcome,
  type ReplyEntry,
  type ResultEntry,
  type UserEntry,
} from "../protocol/index.ts";
import type { Tools } from "../tools/toolbox.ts";

/** One piece of thinking to do: by the coordinator on a goal, or by a worker on a node. */
export interface Assignment {
  system: string;
  /** What was said so far, oldest first, since the last summary. */
  history: readonly Entry[];
  /** The number of the first turn to come; more than 1 when work is taken up again. */
  turn: number;
  maxTurns: number;
  /** What it means that the model called no tool: the one thing in which coordinator and worker differ. */
  onSilence(silence: Silence, signal: AbortSignal): Promise<Outcome | UserEntry[]>;
}

/** A reply without calls, and how many there have been in a row. */
export interface Silence {
  reply: ReplyEntry;
  inARow: number;
}

export interface Ports {
  model: Model;
  toolbox: Tools;
  /** News for this reader since it last looked. */
  mail(): UserEntry[];
  /** Whether somebody waits to be heard before anything else is begun. */
  isUrgent?(): boolean;
}

/** Think, act, observe — until the work ends, the turns run out, or the signal stops it. */
export async function* workLoop(
  job: Assignment,
  { model, toolbox, mail, isUrgent }: Ports,
  signal: AbortSignal,
): AsyncGenerator<Entry, Outcome> {
  const history = [...job.history];
  function* add(...entries: Entry[]) {
    history.push(...entries);
    yield* entries;
  }

  const settled = yield* settle(history, job, toolbox, signal);
  if (settled) return settled;

  for (let turn = job.turn; turn <= job.maxTurns; turn++) {
    // Mail enters here and nowhere else: providers reject anything between a call and its result.
    yield* add(...mail());

    const reply = await model.reply({ system: job.system, history, tools: toolbox.specs }, signal);
    yield* add(reply); // stored before any of its side effects begins

    let ending: Outcome | undefined;
    for (const call of callsOf(reply)) {
      if (!ending) signal.throwIfAborted(); // a stop comes through between calls too, unless it comes too late
      const result = ending
        ? notRun(call, "the work had ended before it")
        : isUrgent?.()
          ? notRun(call, "a message came first; read it, then decide whether to call this again")
          : await toolbox.run(call, signal);
      yield* add(result);
      ending ??= result.ending;
    }
    if (ending) return ending;
    if (callsOf(reply).length > 0) continue;

    const next = await job.onSilence({ reply, inARow: silencesIn(history) }, signal);
    if (!Array.isArray(next)) return next;
    yield* add(...next);
  }
  return { kind: "exhausted", turns: job.maxTurns };
}

/** Every call gets its result, also one that was not begun. */
function notRun(call: CallPart, why: string): ResultEntry {
  return { role: "tool", call_id: call.id, tool: call.name, ok: false, content: `Not run: ${why}.` };
}

/** After a crash: finish the turn that was cut off, and see whether the work had ended already. */
async function* settle(
  history: Entry[],
  job: Assignment,
  toolbox: Tools,
  signal: AbortSignal,
): AsyncGenerator<Entry, Outcome | undefined> {
  const at = history.findLastIndex((entry) => entry.role === "assistant");
  const reply = history[at];
  if (reply?.role !== "assistant") return undefined;
  const since = history.slice(at + 1);
  const results = since.filter((entry) => entry.role === "tool");
  // Something was said after it: that turn is over, and what it ended is another run.
  if (results.length < since.length) return undefined;
  let ending = results.find((result) => result.ending)?.ending;
  const answered = new Set(results.map((result) => result.call_id));
  for (const call of callsOf(reply).filter((call) => !answered.has(call.id))) {
    const result = await toolbox.settle(call, signal);
    history.push(result);
    yield result;
    ending ??= result.ending;
  }
  if (ending) return ending;
  if (callsOf(reply).length > 0) return undefined;
  const next = await job.onSilence({ reply, inARow: silencesIn(history) }, signal);
  if (!Array.isArray(next)) return next;
  history.push(...next);
  yield* next;
  return undefined;
}

/** How many replies called nothing since the last call, the last news or the last try: who waits for news is not idle. */
function silencesIn(history: readonly Entry[]): number {
  let count = 0;
  for (let at = history.length - 1; at >= 0; at--) {
    const entry = history[at];
    if (entry?.role === "user" && (entry.upto !== undefined || entry.again)) break;
    if (entry?.role !== "assistant") continue;
    if (callsOf(entry).length > 0) break;
    count += 1;
  }
  return count;
}
