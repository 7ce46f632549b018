import type { DiffFile, DiffHunk } from "./diff-types.ts";
import { unquote } from "./unquote.ts";

export interface DiffLimits {
  files: number;
  linesOfFile: number;
  bytes: number;
}

export interface ParsedFile extends DiffFile {
  /** The object after the change, or before it where it was deleted. */
  object: string;
}

/**
 * Reads `git diff-tree --raw --numstat -p` as it comes, quoted paths and all: first a line for each file, then their
 * numbers, then the patches, all in the same order. Only the first two are trusted for names; a patch belongs to the
 * file whose turn it is, so that no name and no content can pretend to be another file.
 *
 * DIFF-1. What is kept is bounded: files, lines of a file, bytes in all. The totals count everything.
 * DIFF-2. A hunk has as many lines as it says, whatever these look like.
 */
export class DiffParser {
  readonly files: ParsedFile[] = [];
  filesTotal = 0;
  insertions = 0;
  deletions = 0;
  readonly #limits: DiffLimits;
  #bytes = 0;
  #numbered = 0;
  #patch = -1;
  #patchesLeft = 0;
  #hunk: OpenHunk | undefined;
  #linesOfFile = 0;

  constructor(limits: DiffLimits) {
    this.#limits = limits;
  }

  /** False when nothing that follows could be kept. */
  line(text: string): boolean {
    if (this.#hunk && (this.#hunk.old > 0 || this.#hunk.now > 0 || text.startsWith("\\"))) return this.#inHunk(text);
    if (this.#patch < 0 && text.startsWith(":")) this.#raw(text);
    else if (this.#patch < 0 && /^(?:\d+|-)\t(?:\d+|-)\t/.test(text)) this.#numbers(text);
    else if (text.startsWith("diff --git ")) return this.#begin();
    else if (text.startsWith("Binary files ") && this.#file) this.#file.binary = true;
    else if (text.startsWith("@@ ")) this.#openHunk(text);
    return true;
  }

  get #file(): ParsedFile | undefined {
    return this.files[this.#patch];
  }

  #raw(text: string): void {
    this.filesTotal += 1;
    if (this.files.length >= this.#limits.files) return;
    const [fields = "", ...paths] = text.slice(1).split("\t");
    const [, , before = "", after = "", status = "M"] = fields.split(" ");
    const names = paths.map(unquote);
    const path = names.at(-1) ?? "";
    const kind = STATUS[status[0] ?? "M"] ?? "modified";
    this.files.push({
      path,
      ...(names.length > 1 && names[0] !== undefined ? { old_path: names[0] } : {}),
      status: kind,
      binary: false,
      insertions: 0,
      deletions: 0,
      hunks: [],
      object: kind === "deleted" ? before : after,
    });
  }

  #numbers(text: string): void {
    const [plus = "-", minus = "-"] = text.split("\t");
    const file = this.files[this.#numbered];
    this.#numbered += 1;
    const [insertions, deletions] = [Number(plus) || 0, Number(minus) || 0];
    this.insertions += insertions;
    this.deletions += deletions;
    if (!file) return;
    file.insertions = insertions;
    file.deletions = deletions;
    if (plus === "-") file.binary = true;
  }

  #begin(): boolean {
    this.#hunk = undefined;
    if (this.#patchesLeft > 0) {
      this.#patchesLeft -= 1;
      return true;
    }
    this.#patch += 1;
    this.#linesOfFile = 0;
    // A file that became a link (or the reverse) is shown as deleted and added again: two patches.
    this.#patchesLeft = this.#file?.status === "type_changed" ? 1 : 0;
    return this.#patch < this.files.length;
  }

  #openHunk(text: string): void {
    const found = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/s.exec(text);
    if (!found || !this.#file) return;
    const [, oldStart = "0", oldLines = "1", newStart = "0", newLines = "1", header = ""] = found;
    const hunk: DiffHunk = {
      old_start: Number(oldStart),
      old_lines: Number(oldLines),
      new_start: Number(newStart),
      new_lines: Number(newLines),
      header: header.slice(0, 200),
      lines: [],
    };
    this.#hunk = { hunk, old: hunk.old_lines, now: hunk.new_lines, isKept: this.#hasRoom(0) };
    if (this.#hunk.isKept) this.#file.hunks.push(hunk);
    else this.#file.cut = true;
  }

  #inHunk(text: string): boolean {
    const open = this.#hunk;
    if (!open) return true;
    const sign = text[0];
    if (sign !== "+" && sign !== "\\") open.old -= 1;
    if (sign !== "-" && sign !== "\\") open.now -= 1;
    if (open.isKept && this.#hasRoom(text.length)) {
      open.hunk.lines.push(text);
      this.#bytes += text.length;
      this.#linesOfFile += 1;
    } else {
      open.isKept = false;
      if (this.#file) this.#file.cut = true;
    }
    return true;
  }

  #hasRoom(bytes: number): boolean {
    return this.#linesOfFile < this.#limits.linesOfFile && this.#bytes + bytes <= this.#limits.bytes;
  }

  /** Nothing of the patches that follow would be kept. */
  get isFull(): boolean {
    return this.#bytes >= this.#limits.bytes;
  }

  /** When reading stops early: marks the files whose patches were not reached. */
  markUnread(): void {
    for (const file of this.files.slice(this.#patch + 1)) {
      if (!file.binary && file.insertions + file.deletions > 0) file.cut = true;
    }
  }
}

interface OpenHunk {
  hunk: DiffHunk;
  old: number;
  now: number;
  isKept: boolean;
}

const STATUS: Record<string, DiffFile["status"]> = {
  A: "added",
  D: "deleted",
  M: "modified",
  R: "renamed",
  C: "copied",
  T: "type_changed",
};

/** Splits output into lines without their ends; a line without an end in sight is cut, so that memory is bounded. */
export class Lines {
  readonly #onLine: (line: string) => boolean;
  readonly #most: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(onLine: (line: string) => boolean, most = 64 * 1024) {
    this.#onLine = onLine;
    this.#most = most;
  }

  take(part: Buffer): boolean {
    let from = 0;
    for (let at = part.indexOf(10); at >= 0; at = part.indexOf(10, from)) {
      this.#keep(part.subarray(from, at));
      from = at + 1;
      if (!this.flush(true)) return false;
    }
    this.#keep(part.subarray(from));
    return true;
  }

  flush(isWhole = false): boolean {
    if (!isWhole && this.#parts.length === 0) return true;
    const line = Buffer.concat(this.#parts).toString("utf8");
    this.#parts = [];
    this.#bytes = 0;
    return this.#onLine(line);
  }

  #keep(part: Buffer): void {
    const room = this.#most - this.#bytes;
    if (room <= 0 || part.length === 0) return;
    this.#parts.push(Buffer.from(part.subarray(0, room)));
    this.#bytes += Math.min(room, part.length);
  }
}
