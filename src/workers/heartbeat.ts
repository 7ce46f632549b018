import { callsOf, type Entry, HEARTBEAT_OK, type ReplyEntry, textOf } from "../protocol/index.ts";

export function isQuiet(reply: ReplyEntry): boolean {
  return callsOf(reply).length === 0 && textOf(reply).trim() === HEARTBEAT_OK;
}

/** A heartbeat that found nothing to do leaves no trace in what the model is shown; the record has it. */
export function withoutQuietBeats(history: readonly Entry[]): Entry[] {
  const kept: Entry[] = [];
  for (const entry of history) {
    const before = kept.at(-1);
    const isOver = entry.role === "assistant" && isQuiet(entry) && before?.role === "user" && before.beat === true;
    if (isOver) kept.pop();
    else kept.push(entry);
  }
  return kept;
}
