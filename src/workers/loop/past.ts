import { callsOf, type Entry, type ResultEntry, type StoredEntry, type SummaryEntry } from "../../protocol/index.ts";
import { addShown } from "./shown-history.ts";

/** What a conversation says about an assignment that was begun before. */
export interface Past {
  system: string;
  /** Since the last summary, without system entries. */
  history: Entry[];
  /** The number of the next turn. */
  turn: number;
  /** How many turns the tries before this one took. */
  tried: number;
  /** How many of them wrote down what must not be lost: they do not count as turns of the work. */
  flushTurns: number;
  /** News up to this fact has been told. */
  cursor: number;
}

/**
 * Finds the assignment that begins with the given entry; undefined when it never began. A worker resumes only the
 * assignment (what it learned before is in its memory), unless it is a role; the coordinator's conversation goes on
 * through all its runs.
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
    flushTurns: flushTurnsIn(since),
    cursor: lastCursor(since),
  };
}

function turnsIn(entries: readonly StoredEntry[]): number {
  return entries.filter((entry) => entry.role === "assistant").length;
}

/**
 * The parts of a worker's conversation that are about one node. Usually it is one part, to the end; a node that was
 * reopened goes on after what its worker did meanwhile.
 */
export function entriesOn(entries: readonly StoredEntry[], node: string): StoredEntry[] {
  const words: StoredEntry[] = [];
  let about: string | undefined;
  let system: StoredEntry | undefined;
  for (const entry of entries) {
    const begins = entry.role === "system" || entry.role === "user" ? entry.node_id : undefined;
    about = begins ?? about;
    if (entry.role === "system") system = entry;
    else if (begins === node && system) words.push(system);
    if (about === node && entry.role !== "system") words.push(entry);
  }
  return words;
}

/**
 * What a worker said before it began a node, whole: calls that were cut off get a result, since providers refuse a
 * conversation in which a call has none.
 */
export function entriesBefore(entries: readonly StoredEntry[], node: string): StoredEntry[] {
  const first = entries.findIndex((entry) => entry.role === "user" && entry.node_id === node);
  const before = (first < 0 ? entries : entries.slice(0, first)).filter(({ role }) => role !== "system");
  const answered = new Set(before.flatMap((entry) => (entry.role === "tool" ? entry.call_id : [])));
  return before.flatMap((entry) => {
    const calls = entry.role === "assistant" ? callsOf(entry).filter(({ id }) => !answered.has(id)) : [];
    const { seq, ts } = entry;
    return [entry, ...calls.map(({ id, name }): StoredEntry => ({ seq, ts, ...cutOff(id, name) }))];
  });
}

function cutOff(call_id: string, tool: string): ResultEntry {
  return { role: "tool", call_id, tool, ok: false, content: "Outcome unknown: the work had ended." };
}

/** The node that the last words of a worker's conversation are about. */
export function lastNodeIn(entries: readonly StoredEntry[]): string | undefined {
  const last = entries.findLast((entry) => (entry.role === "system" || entry.role === "user") && entry.node_id);
  return last && "node_id" in last ? last.node_id : undefined;
}

/** Up to which fact the reader of this conversation was told the news. */
export function lastCursor(entries: readonly StoredEntry[]): number {
  for (let at = entries.length - 1; at >= 0; at--) {
    const entry = entries[at];
    if (entry?.role === "user" && entry.upto !== undefined) return entry.upto;
  }
  return 0;
}

/** Up to which fact its reader was told what colleagues ended: only somebody who waits is told that. */
export function colleaguesCursor(entries: readonly StoredEntry[]): number {
  const told = entries.findLast((entry) => entry.role === "user" && entry.colleagues);
  return told?.role === "user" ? (told.upto ?? 0) : 0;
}

/** What the model is shown: the last summary, what it kept, and what came since. */
export function sinceSummary(entries: readonly Entry[]): Entry[] {
  let shown: Entry[] = [];
  for (const entry of entries) {
    if (entry.role === "summary") shown = [entry, ...keptBy(entry, shown)];
    else if (entry.role !== "system") addShown(shown, entry);
  }
  return shown;
}

function keptBy({ kept = 0 }: SummaryEntry, shown: readonly Entry[]): Entry[] {
  if (kept === 0) return [];
  const flush = openFlush(shown);
  return shown.slice(0, flush < 0 ? shown.length : flush).slice(-kept);
}

/** Where the flush that is under way begins; -1 when there is none. Words said after it have ended it. */
export function openFlush(history: readonly Entry[]): number {
  for (let at = history.length - 1; at >= 0; at--) {
    const entry = history[at];
    if (entry?.role === "user" || entry?.role === "summary") return isFlush(entry) ? at : -1;
  }
  return -1;
}

function isFlush(entry: Entry | undefined): boolean {
  return entry?.role === "user" && entry.flush === true;
}

function flushTurnsIn(entries: readonly Entry[]): number {
  let flushing = false;
  let turns = 0;
  for (const entry of entries) {
    if (entry.role === "user" || entry.role === "summary") flushing = isFlush(entry);
    else if (entry.role === "assistant" && flushing) turns += 1;
  }
  return turns;
}
