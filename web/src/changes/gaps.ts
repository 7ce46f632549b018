import type { FileDiff, FileHunk } from "../live/repository-api.ts";
import { endNew, endOld, firstNew, firstOld } from "./diff-lines.ts";

/** Lines of the changed file that were loaded on request, by number, and how many it has. */
export interface KnownLines {
  lines: ReadonlyMap<number, string>;
  total: number | null;
}

/** Unchanged lines that are not shown. `to` is null while the length of the file is unknown. */
export interface Gap {
  from: number;
  to: number | null;
  /** The function or heading that git names for the next hunk. */
  header: string;
  hasBefore: boolean;
  hasAfter: boolean;
}

/** The same hunks with the unchanged lines around them that are known; those that meet become one. */
export function expanded(hunks: readonly FileHunk[], { lines }: KnownLines): readonly FileHunk[] {
  if (lines.size === 0) return hunks;
  const grown: FileHunk[] = [];
  for (const hunk of hunks) {
    const before = grown.at(-1);
    const floor = before ? endNew(before) : 1;
    const above = linesBack(lines, firstNew(hunk) - 1, floor);
    const isJoined = before !== undefined && above.length === firstNew(hunk) - floor;
    if (isJoined) append(before, above, hunk);
    else grown.push(withAbove(hunk, above));
    const last = grown.at(-1);
    if (last) extend(last, linesOn(lines, endNew(last), hunks));
  }
  return grown;
}

/** The gaps above each hunk, in their order (null: nothing is hidden there), and the one below the last. */
export function gapsOf(file: FileDiff, hunks: readonly FileHunk[], known: KnownLines): (Gap | null)[] {
  const isWhole = file.status === "added" || file.status === "deleted";
  if (isWhole || hunks.length === 0) return [...hunks.map(() => null), null];
  const gaps = hunks.map((hunk, at): Gap | null => {
    const before = hunks[at - 1];
    const from = before ? endNew(before) : 1;
    const to = firstNew(hunk) - 1;
    return from > to ? null : { from, to, header: hunk.header, hasBefore: before !== undefined, hasAfter: true };
  });
  return [...gaps, file.cut ? null : gapBelow(hunks, known)];
}

function gapBelow(hunks: readonly FileHunk[], { total }: KnownLines): Gap | null {
  const last = hunks.at(-1);
  if (!last) return null;
  const from = endNew(last);
  if (total !== null) return from > total ? null : { from, to: total, header: "", hasBefore: true, hasAfter: false };
  // Where the file ends within the context, git has fewer lines of it than were asked for.
  const after = last.lines.length - 1 - last.lines.findLastIndex((line) => !line.startsWith(" "));
  return after < CONTEXT ? null : { from, to: null, header: "", hasBefore: true, hasAfter: false };
}

/** The server's default. */
const CONTEXT = 3;
/** How many more lines one click shows. */
const STEP = 20;

/** Which lines to ask for: the next below what is before the gap, above what is after it, or all of them. */
export function wantedOf(gap: Gap, which: "down" | "up" | "all"): { from: number; to: number } {
  const end = gap.to ?? gap.from + MOST - 1;
  if (which === "all") return { from: gap.from, to: Math.min(end, gap.from + MOST - 1) };
  if (which === "down") return { from: gap.from, to: Math.min(end, gap.from + STEP - 1) };
  return { from: Math.max(gap.from, end - STEP + 1), to: end };
}

/** Short enough to be shown with one click. */
export function isShort(gap: Gap): boolean {
  return gap.to !== null && gap.to - gap.from + 1 <= STEP;
}

/** The most that the server sends at once. */
const MOST = 1000;

function linesBack(lines: KnownLines["lines"], from: number, floor: number): string[] {
  const found: string[] = [];
  for (let number = from; number >= floor; number--) {
    const line = lines.get(number);
    if (line === undefined) break;
    found.push(` ${line}`);
  }
  return found.reverse();
}

/** Up to where the next hunk begins. */
function linesOn(lines: KnownLines["lines"], from: number, hunks: readonly FileHunk[]): string[] {
  const next = hunks.find((hunk) => firstNew(hunk) >= from);
  const ceiling = next ? firstNew(next) : Number.POSITIVE_INFINITY;
  const found: string[] = [];
  for (let number = from; number < ceiling; number++) {
    const line = lines.get(number);
    if (line === undefined) break;
    found.push(` ${line}`);
  }
  return found;
}

function withAbove(hunk: FileHunk, above: readonly string[]): FileHunk {
  if (above.length === 0) return { ...hunk };
  return {
    ...hunk,
    old_start: firstOld(hunk) - above.length,
    old_lines: hunk.old_lines + above.length,
    new_start: firstNew(hunk) - above.length,
    new_lines: hunk.new_lines + above.length,
    lines: [...above, ...hunk.lines],
  };
}

function extend(hunk: FileHunk, below: readonly string[]): void {
  if (below.length === 0) return;
  hunk.old_start = firstOld(hunk);
  hunk.new_start = firstNew(hunk);
  hunk.old_lines += below.length;
  hunk.new_lines += below.length;
  hunk.lines = [...hunk.lines, ...below];
}

function append(hunk: FileHunk, between: readonly string[], next: FileHunk): void {
  const [oldEnd, newEnd] = [endOld(next), endNew(next)];
  hunk.old_start = firstOld(hunk);
  hunk.new_start = firstNew(hunk);
  hunk.old_lines = oldEnd - hunk.old_start;
  hunk.new_lines = newEnd - hunk.new_start;
  hunk.lines = [...hunk.lines, ...between, ...next.lines];
}
