import type { FileDiff, FileHunk, ReviewComment } from "../live/repository-api.ts";
import { type AnchoredComment, anchored } from "./anchors.ts";
import { addressOf, type DiffLine, linesOf, pairsOf, type Side } from "./diff-lines.ts";
import { expanded, type Gap, gapsOf, type KnownLines } from "./gaps.ts";

export interface LineAddress {
  path: string;
  side: Side;
  line: number;
}

type Of = { key: number | string; file: FileDiff };
export type FileRow = Of & { kind: "file"; isOpen: boolean };
export type NoteRow = Of & { kind: "note"; why: NonNullable<ReturnType<typeof noteOf>> };
export type GapRow = Of & { kind: "gap"; gap: Gap };
/** `facing` is the text in whose place it came, or that came in its place. */
export type LineRow = Of & { kind: "line"; hunk: FileHunk; line: DiffLine; facing: string | null };
export type PairRow = Of & { kind: "pair"; hunk: FileHunk; left: DiffLine | null; right: DiffLine | null };
export type CommentsRow = Of & { kind: "comments"; comments: readonly AnchoredComment[] };
export type ComposerRow = Of & { kind: "composer"; at: LineAddress; quote: string };
/** What is above the files. */
export type AboutRow = { kind: "about"; key: string; file: null };
export type DiffRow = FileRow | NoteRow | GapRow | LineRow | PairRow | CommentsRow | ComposerRow | AboutRow;

export interface FileLook {
  isSplit: boolean;
  isOpen: boolean;
  known: KnownLines;
  comments: readonly ReviewComment[];
  composing: LineAddress | null;
}

/**
 * The rows of files, made again only for those that look otherwise than before: a diff has a hundred thousand lines, and
 * a comment is about one.
 */
export class FileRows {
  readonly #made = new Map<string, { file: FileDiff; look: FileLook; rows: readonly DiffRow[] }>();
  readonly #numbers = new Map<string, number>();

  rowsOf(file: FileDiff, look: FileLook): readonly DiffRow[] {
    const before = this.#made.get(file.path);
    if (before?.file === file && isSameLook(before.look, look)) return before.rows;
    const rows = rowsOfFile(file, look, this.#numberOf(file.path));
    this.#made.set(file.path, { file, look, rows });
    return rows;
  }

  #numberOf(path: string): number {
    const known = this.#numbers.get(path);
    if (known !== undefined) return known;
    const next = this.#numbers.size + 1;
    this.#numbers.set(path, next);
    return next;
  }
}

function isSameLook(a: FileLook, b: FileLook): boolean {
  const isSame = a.isSplit === b.isSplit && a.isOpen === b.isOpen && a.known === b.known;
  return isSame && a.comments === b.comments && a.composing === b.composing;
}

/** Every row of a file, from its name on. */
export function rowsOfFile(file: FileDiff, look: FileLook, number = 1): DiffRow[] {
  const rows: DiffRow[] = [{ kind: "file", key: `file ${file.path}`, file, isOpen: look.isOpen }];
  if (!look.isOpen) return rows;
  const hunks = expanded(file.hunks, look.known);
  const said = anchored(hunks, look.comments);
  const lost = said.filter(({ line }) => line === null);
  if (lost.length > 0) rows.push({ kind: "comments", key: `lost ${file.path}`, file, comments: lost });
  const why = noteOf(file);
  if (why) rows.push({ kind: "note", key: `note ${file.path}`, file, why });
  const gaps = gapsOf(file, hunks, look.known);
  const making: Making = { rows, file, number, said, composing: look.composing };
  for (const [at, hunk] of hunks.entries()) {
    pushGap(making, gaps[at] ?? null);
    if (look.isSplit) pushPairs(making, hunk);
    else pushLines(making, hunk);
  }
  pushGap(making, gaps[hunks.length] ?? null);
  return rows;
}

function noteOf(file: FileDiff): "binary" | "cut" | "same" | null {
  if (file.binary) return "binary";
  if (file.cut) return "cut";
  return file.hunks.length === 0 ? "same" : null;
}

interface Making {
  rows: DiffRow[];
  file: FileDiff;
  number: number;
  said: readonly AnchoredComment[];
  composing: LineAddress | null;
}

function pushGap({ rows, file }: Making, gap: Gap | null): void {
  if (gap) rows.push({ kind: "gap", key: `gap ${file.path} ${gap.from}`, file, gap });
}

function pushLines(making: Making, hunk: FileHunk): void {
  const { rows, file } = making;
  const lines = linesOf(hunk);
  const facing = new Map<number, string>();
  for (const { left, right } of pairsOf(lines)) {
    if (left?.sign !== "-" || right?.sign !== "+") continue;
    facing.set(left.at, right.text);
    facing.set(right.at, left.text);
  }
  let before = 0;
  for (const line of lines) {
    const key: number = keyOf(making, line, before);
    before = key;
    rows.push({ kind: "line", key, file, hunk, line, facing: facing.get(line.at) ?? null });
    pushBelow(making, line);
  }
}

function pushPairs(making: Making, hunk: FileHunk): void {
  const { rows, file } = making;
  let before = 0;
  for (const { left, right } of pairsOf(linesOf(hunk))) {
    const line = right?.sign === "\\" ? (left ?? right) : (right ?? left);
    const key: number = line ? keyOf(making, line, before) : before + 0.5;
    before = key;
    rows.push({ kind: "pair", key, file, hunk, left, right });
    if (left?.sign === "-") pushBelow(making, left);
    if (right) pushBelow(making, right);
  }
}

/** A number, since there are so many, and the same for the same line whenever its rows are made. */
function keyOf({ number }: Making, line: DiffLine, before: number): number {
  const address = addressOf(line);
  if (!address) return before + 0.5;
  return number * LINES_OF_FILE + address.line * 2 + (address.side === "new" ? 1 : 0);
}

const LINES_OF_FILE = 2 ** 26;

/** What stands below a line: what was said about it, and what is being written. */
function pushBelow({ rows, file, said, composing }: Making, line: DiffLine): void {
  if (said.length === 0 && composing === null) return;
  const address = addressOf(line);
  if (!address) return;
  const { side, line: number } = address;
  const here = said.filter((each) => each.line === number && each.comment.side === side);
  const key = `${side} ${number} ${file.path}`;
  if (here.length > 0) rows.push({ kind: "comments", key: `said ${key}`, file, comments: here });
  if (composing?.side === side && composing.line === number)
    rows.push({ kind: "composer", key: `composer ${key}`, file, at: composing, quote: line.text });
}

/** A file with more changed lines than this is shown on request. */
export function isLarge(file: FileDiff): boolean {
  return file.insertions + file.deletions > LARGE;
}

const LARGE = 1500;

/** The lines of a row that can be commented on, the added one first. */
export function addressesOf(row: DiffRow): LineAddress[] {
  const lines = row.kind === "line" ? [row.line] : row.kind === "pair" ? [row.right, row.left] : [];
  return lines.flatMap((line) => {
    const address = line && addressOf(line);
    return address && row.file ? [{ path: row.file.path, ...address }] : [];
  });
}

export function isAt(row: DiffRow, at: LineAddress | null): boolean {
  return addressesOf(row).some((each) => each.path === at?.path && each.side === at.side && each.line === at.line);
}

/** Whether a row shows a change, as opposed to what is around it. */
export function isChange(row: DiffRow): boolean {
  if (row.kind === "line") return row.line.sign !== " ";
  return row.kind === "pair" && (row.left?.sign ?? row.right?.sign) !== " ";
}
