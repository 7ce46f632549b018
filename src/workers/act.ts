import {
  type CallPart,
  callsOf,
  type Entry,
  type Outcome,
  type ReplyEntry,
  type ResultEntry,
} from "../protocol/index.ts";
import type { Tools } from "../tools/toolbox.ts";
import { cutOff } from "./unheard.ts";

/**
 * Makes the calls of a reply, one after the other; their results go to the history and to whoever keeps the record.
 * Every call gets one, also one that was not begun: because the work had ended, or because `hold` says why not now.
 */
export async function* act(
  reply: ReplyEntry,
  history: Entry[],
  toolbox: Tools,
  hold: (call: CallPart) => string | undefined,
  signal: AbortSignal,
): AsyncGenerator<Entry, Outcome | undefined> {
  let ending: Outcome | undefined;
  for (const call of callsOf(reply)) {
    if (!ending) signal.throwIfAborted(); // a stop comes through between calls too, unless it comes too late
    const why = ending ? "the work had ended before it" : (cutOff(call, reply) ?? hold(call));
    const result = why === undefined ? await toolbox.run(call, signal) : notRun(call, why);
    history.push(result);
    yield result;
    ending ??= result.ending;
  }
  return ending;
}

export function notRun(call: CallPart, why: string): ResultEntry {
  return { role: "tool", call_id: call.id, tool: call.name, ok: false, content: `Not run: ${why}.` };
}
