import { addressesOf, type DiffRow, isAt, isChange, type LineAddress } from "./diff-rows.ts";

/** Where the keys lead, as positions in the rows. */

/** The file after or before the one at `from`. */
export function nextFile(rows: readonly DiffRow[], from: number, step: 1 | -1): number | null {
  // Within a file, its own name is the one before.
  const start = step > 0 ? from + 1 : from - 1;
  for (let at = start; at >= 0 && at < rows.length; at += step) if (rows[at]?.kind === "file") return at;
  return null;
}

/** The first row of the next run of changes, or of the one before. */
export function nextHunk(rows: readonly DiffRow[], from: number, step: 1 | -1): number | null {
  const isFirst = (at: number) => isChangeAt(rows, at) && !isChangeAt(rows, before(rows, at));
  for (let at = from + step; at >= 0 && at < rows.length; at += step) if (isFirst(at)) return at;
  return null;
}

/** A comment does not split a run of changes. */
function before(rows: readonly DiffRow[], from: number): number {
  let at = from - 1;
  while (rows[at]?.kind === "comments" || rows[at]?.kind === "composer") at -= 1;
  return at;
}

function isChangeAt(rows: readonly DiffRow[], at: number): boolean {
  const row = rows[at];
  return row !== undefined && isChange(row);
}

export interface FoundLine {
  index: number;
  at: LineAddress;
}

/** The line after or before. */
export function nextLine(rows: readonly DiffRow[], from: number, step: 1 | -1): FoundLine | null {
  for (let index = from + step; index >= 0 && index < rows.length; index += step) {
    const row = rows[index];
    const [at] = row ? addressesOf(row) : [];
    if (at) return { index, at };
  }
  return null;
}

export function indexOfLine(rows: readonly DiffRow[], at: LineAddress | null): number | null {
  if (at === null) return null;
  const index = rows.findIndex((row) => row.file?.path === at.path && isAt(row, at));
  return index < 0 ? null : index;
}

export function indexOfFile(rows: readonly DiffRow[], path: string): number | null {
  const index = rows.findIndex((row) => row.kind === "file" && row.file.path === path);
  return index < 0 ? null : index;
}
