import type { FileHunk } from "../live/repository-api.ts";

export type Side = "old" | "new";

/** One line of a hunk. `old` and `new` are its numbers before and after the change, null where it is not there. */
export interface DiffLine {
  sign: " " | "+" | "-" | "\\";
  old: number | null;
  new: number | null;
  text: string;
  /** Which line of its hunk. */
  at: number;
}

export function linesOf(hunk: FileHunk): DiffLine[] {
  let old = firstOld(hunk);
  let now = firstNew(hunk);
  return hunk.lines.map((line, at) => {
    const sign = signOf(line);
    const isOld = sign === " " || sign === "-";
    const isNew = sign === " " || sign === "+";
    return { sign, old: isOld ? old++ : null, new: isNew ? now++ : null, text: line.slice(1), at };
  });
}

function signOf(line: string): DiffLine["sign"] {
  const [sign] = line;
  return sign === "+" || sign === "-" || sign === "\\" ? sign : " ";
}

/** Where a side has no line of a hunk, git names the line before it. */
export function firstOld({ old_start, old_lines }: FileHunk): number {
  return old_lines === 0 ? old_start + 1 : old_start;
}

export function firstNew({ new_start, new_lines }: FileHunk): number {
  return new_lines === 0 ? new_start + 1 : new_start;
}

export const endOld = (hunk: FileHunk): number => firstOld(hunk) + hunk.old_lines;
export const endNew = (hunk: FileHunk): number => firstNew(hunk) + hunk.new_lines;

/** How a line is addressed: a removed line by its old number, any other by its new one. */
export function addressOf(line: DiffLine): { side: Side; line: number } | null {
  if (line.sign === "-" && line.old !== null) return { side: "old", line: line.old };
  return line.new === null ? null : { side: "new", line: line.new };
}

export interface LinePair {
  left: DiffLine | null;
  right: DiffLine | null;
}

/** Side by side: unchanged lines face themselves, and removed lines face the lines that replaced them, in order. */
export function pairsOf(lines: readonly DiffLine[]): LinePair[] {
  const pairs: LinePair[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at];
    if (line?.sign === " ") {
      pairs.push({ left: line, right: line });
      at += 1;
      continue;
    }
    const left: DiffLine[] = [];
    const right: DiffLine[] = [];
    let last = left;
    for (; at < lines.length && lines[at]?.sign !== " "; at++) {
      const changed = lines[at];
      if (!changed) break;
      // That a file has no line end at its end is said below the line that it is about.
      if (changed.sign !== "\\") last = changed.sign === "-" ? left : right;
      last.push(changed);
    }
    for (let row = 0; row < Math.max(left.length, right.length); row++)
      pairs.push({ left: left[row] ?? null, right: right[row] ?? null });
  }
  return pairs;
}
