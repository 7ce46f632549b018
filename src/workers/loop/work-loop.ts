import type { Model } from "../../models/model.ts";
import {
  type CallPart,
  callsOf,
  type Entry,
  type Outcome,
  type ReplyEntry,
  type UserEntry,
} from "../../protocol/index.ts";
import { onlyLooks } from "../../tools/tool.ts";
import type { Tools } from "../../tools/toolbox.ts";
import { type Compactable, Compaction, whyNotInFlush } from "./compaction.ts";
import { missedCallIn, whyCutOff } from "./missed-calls.ts";
import { openFlush } from "./past.ts";
import { addShown } from "./shown-history.ts";
import { concludedTooSoon, notRun, runCalls } from "./tool-calls.ts";

/** What the loop works on: the coordinator's goal, or a worker's node. */
export interface LoopAssignment {
  system: string;
  /** What was said so far, oldest first, since the last summary. */
  history: readonly Entry[];
  /** The number of the first turn to come; more than 1 when work is resumed. */
  turn: number;
  /** For the work itself; turns that write things down for a compaction come on top. */
  maxTurns: number;
  /** The same, asked at each turn: each cycle of an infinite agent has its own turns. */
  lastTurn?(turn: number): number;
  /** How its conversation is compacted when it gets too long; null where there is nothing to compact. */
  compactable: Compactable | null;
  /** What it means that the model called no tool: the one thing in which coordinator and worker differ. */
  onReplyWithoutCall(found: ReplyWithoutCall, signal: AbortSignal): Promise<Outcome | UserEntry[]>;
}

/** A reply without calls, and how many there have been in a row. */
export interface ReplyWithoutCall {
  reply: ReplyEntry;
  inARow: number;
  /** What to tell a model that meant to call a tool and did not. */
  missedCall?: string | undefined;
  /** What was said so far, with the reply. */
  history: readonly Entry[];
}

export interface LoopPorts {
  model: Model;
  toolbox: Tools;
  /** News for this reader since it last looked. */
  mail(): UserEntry[];
  /** Whether a message must be read before anything else is begun. */
  isUrgent?(): boolean;
}

/** Think, act, observe — until the work ends, the turns run out, or the signal stops it. */
export async function* workLoop(
  assignment: LoopAssignment,
  { model, toolbox, mail, isUrgent }: LoopPorts,
  signal: AbortSignal,
): AsyncGenerator<Entry, Outcome> {
  const history = [...assignment.history];
  function* add(...entries: Entry[]) {
    for (const entry of entries) addShown(history, entry);
    yield* entries;
  }

  const ended = yield* recoverTurn(history, assignment, toolbox, signal);
  if (ended) return ended;

  const thinking = new Compaction(assignment.system, { model, toolbox, mail }, assignment.compactable);
  const whyNot = (call: CallPart) => (isUrgent?.() && !onlyLooks(call, toolbox.specs) ? MESSAGE_FIRST : undefined);
  const lastTurn = (turn: number) => assignment.lastTurn?.(turn) ?? assignment.maxTurns;
  for (let turn = assignment.turn; turn <= lastTurn(turn); turn++) {
    // Mail enters here and nowhere else: providers reject anything between a call and its result, and a summary would
    // hide what came while things were written down for it.
    if (openFlush(history) < 0) yield* add(...mail());

    const thought = yield* thinking.replyTo(history, signal);
    if ("ending" in thought) return thought.ending;
    const { reply } = thought;
    yield* add(reply); // stored before any of its side effects begins

    const ending = yield* runCalls(reply, history, toolbox, whyNot, signal);
    if (ending) return ending;
    if (callsOf(reply).length > 0) continue;

    const next = await afterReplyWithoutCall(reply, history, assignment, toolbox, signal);
    if (!Array.isArray(next)) return next;
    yield* add(...next);
  }
  return { kind: "exhausted", turns: assignment.maxTurns };
}

/** After the message the model may decide otherwise about a call that has an effect; one that only looks is made. */
const MESSAGE_FIRST = "a message came first; read it, then decide whether to call this again";

/** After a crash: finish the turn that was cut off, and see whether the work had ended already. */
async function* recoverTurn(
  history: Entry[],
  assignment: LoopAssignment,
  toolbox: Tools,
  signal: AbortSignal,
): AsyncGenerator<Entry, Outcome | undefined> {
  const at = history.findLastIndex((entry) => entry.role === "assistant");
  const reply = history[at];
  if (reply?.role !== "assistant") return undefined;
  const since = history.slice(at + 1);
  const results = since.filter((entry) => entry.role === "tool");
  // Something was said after it: that turn is over, and what ended with it was another run.
  if (results.length < since.length) return undefined;
  const all = [...results];
  let ending = results.find((result) => result.ending)?.ending;
  const answered = new Set(results.map((result) => result.call_id));
  for (const call of callsOf(reply).filter((call) => !answered.has(call.id))) {
    const whyNot =
      whyCutOff(call, reply) ?? (openFlush(history) < 0 ? concludedTooSoon(call, all) : whyNotInFlush(call));
    const result = whyNot === undefined ? await toolbox.recover(call, signal) : notRun(call, whyNot);
    history.push(result);
    all.push(result);
    yield result;
    ending ??= result.ending;
  }
  if (ending) return ending;
  // Without a call in a flush, it has written down what it wanted to.
  if (callsOf(reply).length > 0 || openFlush(history) >= 0) return undefined;
  const next = await afterReplyWithoutCall(reply, history, assignment, toolbox, signal);
  if (!Array.isArray(next)) return next;
  for (const entry of next) addShown(history, entry);
  yield* next;
  return undefined;
}

/** It is told at once so often in a row; then `onReplyWithoutCall` decides. */
const MOST_TOLD = 4;

function afterReplyWithoutCall(
  reply: ReplyEntry,
  history: readonly Entry[],
  assignment: LoopAssignment,
  toolbox: Tools,
  signal: AbortSignal,
): Promise<Outcome | UserEntry[]> {
  const inARow = repliesWithoutCallIn(history);
  const unheard = missedCallIn(reply, toolbox.specs);
  if (unheard?.certain && inARow <= MOST_TOLD)
    return Promise.resolve([{ role: "user", from: "agiraph", content: unheard.words }]);
  return assignment.onReplyWithoutCall({ reply, inARow, missedCall: unheard?.words, history }, signal);
}

/** How many replies called nothing since the last call, the last news or the last try: waiting for news is not idleness. */
function repliesWithoutCallIn(history: readonly Entry[]): number {
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
