import type { DiskFile } from "../disk/disk.ts";
import { NewerVersionError } from "../errors.ts";
import { decodeLine, type Line, RECORD_VERSION, seqAt } from "./line.ts";

/** One file of JSON lines as the store keeps it in memory: where it ends, not its content. */
export class LogStream {
  /** Relative to the home. */
  readonly path: string;
  /** The newest number given out, perhaps not on disk yet. */
  seq: number;
  /** The newest number on disk. */
  durableSeq: number;
  /** Where the next record goes; everything before is on disk. */
  size: number;
  /** Heads of lines that wait for the next write. */
  queued: string[] = [];

  constructor(path: string, seq: number, size: number) {
    this.path = path;
    this.seq = seq;
    this.durableSeq = seq;
    this.size = size;
  }
}

export interface Tail {
  seq: number;
  /** Behind the last whole record. */
  end: number;
  /** Lines with a newline behind the last whole record: damaged, and yet they had numbers. */
  lostLines: number;
}

/** Finds the end of a stream from the end of its file: however long it is, one read is usually enough. */
export function inspectTail(file: DiskFile, path: string, size: number): Tail {
  for (let window = Math.min(size, 16 * 1024); window > 0; window = Math.min(size, window * 8)) {
    const buffer = readRange(file, size - window, window);
    const first = window === size ? 0 : buffer.indexOf(10) + 1;
    const tail = lastWholeLine(buffer, first, path);
    if (tail !== undefined) return { ...tail, end: size - window + tail.end };
    if (window === size) return { seq: 0, end: 0, lostLines: countNewlines(buffer, 0) };
  }
  return { seq: 0, end: 0, lostLines: 0 };
}

/** Where the first record with this number or a higher one begins. Numbers only grow, so binary search finds it. */
export function seekSeq(file: DiskFile, size: number, seq: number): number {
  let low = 0;
  let high = size;
  while (high - low > PROBE) {
    const middle = low + Math.floor((high - low) / 2);
    const line = firstLineAfter(file, middle, high);
    if (line === undefined || line.seq >= seq) high = middle;
    else low = line.offset;
  }
  return low;
}

/** Calls `onLine` with each line of a range until it returns false. Lines are valid only during the call. */
export async function scanLines(
  file: DiskFile,
  from: number,
  to: number,
  onLine: (buffer: Buffer, start: number, end: number, offset: number) => boolean,
): Promise<void> {
  let buffer = Buffer.allocUnsafe(Math.min(CHUNK, to - from));
  let held = 0;
  for (let at = from; at < to; ) {
    if (held > buffer.length / 2) buffer = Buffer.concat([buffer.subarray(0, held)], buffer.length * 2);
    const count = await file.read(buffer.subarray(held, Math.min(buffer.length, held + to - at)), at);
    if (count === 0) return;
    const base = at - held;
    at += count;
    const filled = buffer.subarray(0, held + count);
    let start = 0;
    for (let end = filled.indexOf(10, held); end !== -1; end = filled.indexOf(10, start)) {
      if (!onLine(filled, start, end, base + start)) return;
      start = end + 1;
    }
    buffer.copyWithin(0, start, filled.length);
    held = filled.length - start;
  }
}

/** The line, checked; undefined if it is damaged. A line of a later version cannot be judged here. */
export function checkedLine(buffer: Buffer, start: number, end: number, path: string): Line | undefined {
  const line = decodeLine(buffer, start, end);
  if (line !== undefined && line.version > RECORD_VERSION)
    throw new NewerVersionError(path, line.version, RECORD_VERSION);
  return line;
}

const PROBE = 16 * 1024;
/** Decoding and parsing this many bytes takes 2 to 3 ms, in which nobody else has a turn. */
const CHUNK = 64 * 1024;

function lastWholeLine(buffer: Buffer, first: number, path: string): Tail | undefined {
  let lostLines = 0;
  for (let end = buffer.lastIndexOf(10); end >= first; ) {
    const before = end === 0 ? -1 : buffer.lastIndexOf(10, end - 1);
    const start = Math.max(before + 1, first);
    const line = checkedLine(buffer, start, end, path);
    if (line !== undefined) return { seq: highestIn(buffer, first, end, line.seq), end: end + 1, lostLines };
    lostLines++;
    end = before;
  }
  return undefined;
}

/** A line that was copied behind later ones must not have their numbers given out again. */
function highestIn(buffer: Buffer, first: number, end: number, last: number): number {
  let highest = last;
  for (let start = first; start < end; start = buffer.indexOf(10, start) + 1) {
    const stop = buffer.indexOf(10, start);
    const seq = seqAt(buffer, start, stop);
    if (seq !== undefined && seq > highest && decodeLine(buffer, start, stop)) highest = seq;
  }
  return highest;
}

function firstLineAfter(file: DiskFile, from: number, to: number): { seq: number; offset: number } | undefined {
  for (let window = PROBE; ; window *= 4) {
    const buffer = readRange(file, from, Math.min(window, to - from));
    for (let start = buffer.indexOf(10) + 1; start > 0; start = buffer.indexOf(10, start) + 1) {
      const end = buffer.indexOf(10, start);
      if (end === -1) break;
      const seq = decodeLine(buffer, start, end) && seqAt(buffer, start, end);
      if (seq !== undefined) return { seq, offset: from + start };
    }
    if (window >= to - from) return undefined;
  }
}

function readRange(file: DiskFile, from: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const count = file.readNow(buffer.subarray(filled), from + filled);
    if (count === 0) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}

function countNewlines(buffer: Buffer, from: number): number {
  let count = 0;
  for (let at = buffer.indexOf(10, from); at !== -1; at = buffer.indexOf(10, at + 1)) count++;
  return count;
}
