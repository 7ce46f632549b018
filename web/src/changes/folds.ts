import type { FileDiff, FileHunk } from "../live/repository-api.ts";
import { endNew, endOld, firstNew, firstOld } from "./diff-lines.ts";

/** Lines of the file after the change that were asked for, by their number, and how many it has. */
export interface KnownLines {
  lines: ReadonlyMap<number, string>;
  total: number | null;
}

/** Unchanged lines that are not shown. `to` is null where nobody has said yet how far the file goes. */
export interface Fold {
  from: number;
  to: number | null;
  /** What the next hunk is in, as git says it. */
  header: string;
  hasBefore: boolean;
  hasAfter: boolean;
}

/** The same hunks with the unchanged lines around them that are known; those that meet become one. */
export function unfolded(hunks: readonly FileHunk[], { lines }: KnownLines): readonly FileHunk[] {
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

/** The folds above each hunk, in their order (null: nothing is folded there), and the one below the last. */
export function foldsOf(file: FileDiff, hunks: readonly FileHunk[], known: KnownLines): (Fold | null)[] {
  const isWhole = file.status === "added" || file.status === "deleted";
  if (isWhole || hunks.length === 0) return [...hunks.map(() => null), null];
  const folds = hunks.map((hunk, at): Fold | null => {
    const before = hunks[at - 1];
    const from = before ? endNew(before) : 1;
    const to = firstNew(hunk) - 1;
    return from > to ? null : { from, to, header: hunk.header, hasBefore: before !== undefined, hasAfter: true };
  });
  return [...folds, file.cut ? null : foldBelow(hunks, known)];
}

function foldBelow(hunks: readonly FileHunk[], { total }: KnownLines): Fold | null {
  const last = hunks.at(-1);
  if (!last) return null;
  const from = endNew(last);
  if (total !== null) return from > total ? null : { from, to: total, header: "", hasBefore: true, hasAfter: false };
  // Where the file ends within the context, git has fewer lines of it than were asked for.
  const after = last.lines.length - 1 - last.lines.findLastIndex((line) => !line.startsWith(" "));
  return after < CONTEXT ? null : { from, to: null, header: "", hasBefore: true, hasAfter: false };
}

/** As the server has it when nothing else is asked for. */
const CONTEXT = 3;
/** So many more at a time. */
const STEP = 20;

/** Which lines to ask for: the next below what is before the fold, above what is after it, or all of them. */
export function wantedOf(fold: Fold, which: "down" | "up" | "all"): { from: number; to: number } {
  const end = fold.to ?? fold.from + MOST - 1;
  if (which === "all") return { from: fold.from, to: Math.min(end, fold.from + MOST - 1) };
  if (which === "down") return { from: fold.from, to: Math.min(end, fold.from + STEP - 1) };
  return { from: Math.max(fold.from, end - STEP + 1), to: end };
}

/** A fold that is as short is opened in one go. */
export function isShort(fold: Fold): boolean {
  return fold.to !== null && fold.to - fold.from + 1 <= STEP;
}

/** What the server gives at once. */
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
