import {
  type CallPart,
  callsOf,
  type Entry,
  type Outcome,
  type ReplyEntry,
  type ResultEntry,
} from "../../protocol/index.ts";
import type { Tools } from "../../tools/toolbox.ts";
import { whyCutOff } from "./missed-calls.ts";

/**
 * Makes the calls of a reply, one after the other; their results are added to the history and yielded for the record.
 * Every call gets a result, even one that was not made: because the work had ended, or because `whyNot` says why not.
 */
export async function* runCalls(
  reply: ReplyEntry,
  history: Entry[],
  toolbox: Tools,
  whyNot: (call: CallPart) => string | undefined,
  signal: AbortSignal,
): AsyncGenerator<Entry, Outcome | undefined> {
  let ending: Outcome | undefined;
  const results: ResultEntry[] = [];
  for (const call of callsOf(reply)) {
    if (!ending) signal.throwIfAborted(); // a stop comes through between calls too, unless it comes too late
    const why = ending
      ? "the work had ended before it"
      : (whyCutOff(call, reply) ?? whyNot(call) ?? concludedTooSoon(call, results));
    const result = why === undefined ? await toolbox.run(call, signal) : notRun(call, why);
    history.push(result);
    results.push(result);
    yield result;
    ending ??= result.ending;
  }
  return ending;
}

/** Calls that say how the calls before them came out. */
const CONCLUDING: ReadonlySet<string> = new Set(["checkpoint", "finish", "publish"]);

/** "All is well", written before the results were seen, is a guess; a wrong one if another call of the reply failed. */
export function concludedTooSoon({ name }: CallPart, before: readonly ResultEntry[]): string | undefined {
  const failed = before.find(({ ok }) => !ok);
  return failed && CONCLUDING.has(name)
    ? `${failed.tool}, called before it in the same reply, failed; deal with that, then call ${name} again`
    : undefined;
}

export function notRun(call: CallPart, why: string): ResultEntry {
  return { role: "tool", call_id: call.id, tool: call.name, ok: false, content: `Not run: ${why}.` };
}
