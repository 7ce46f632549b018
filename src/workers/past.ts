import type { Entry, StoredEntry } from "../protocol/index.ts";

/** What a conversation says about an assignment that was begun before. */
export interface Past {
  system: string;
  /** Since the last summary, without system entries. */
  history: Entry[];
  /** The number of the next turn. */
  turn: number;
  /** How many turns the tries before this one took. */
  tried: number;
  /** News up to this fact has been told. */
  cursor: number;
}

/**
 * Finds the assignment that begins with the given entry; undefined when it never began. A worker takes up only the
 * assignment (what it learned before is in its memory); the coordinator's conversation goes on through all its runs.
 */
export function pastOf(
  entries: readonly StoredEntry[],
  from: "assignment" | "beginning",
  begins: (entry: StoredEntry) => boolean,
): Past | undefined {
  const start = entries.findLastIndex(begins);
  if (start < 0) return undefined;
  const system = entries.findLast((entry) => entry.role === "system");
  const since = entries.slice(start);
  const again = since.findLastIndex((entry) => entry.role === "user" && entry.again);
  return {
    system: system?.content ?? "",
    history: sinceSummary(entries.slice(from === "assignment" ? start : 0)),
    turn: 1 + turnsIn(since),
    tried: turnsIn(since.slice(0, Math.max(again, 0))),
    cursor: lastCursor(since),
  };
}

function turnsIn(entries: readonly StoredEntry[]): number {
  return entries.filter((entry) => entry.role === "assistant").length;
}

function lastCursor(entries: readonly StoredEntry[]): number {
  for (let at = entries.length - 1; at >= 0; at--) {
    const entry = entries[at];
    if (entry?.role === "user" && entry.upto !== undefined) return entry.upto;
  }
  return 0;
}

function sinceSummary(entries: readonly StoredEntry[]): Entry[] {
  const summary = entries.findLastIndex((entry) => entry.role === "summary");
  return entries.slice(Math.max(summary, 0)).filter((entry) => entry.role !== "system");
}
