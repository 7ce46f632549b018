import { crc32 } from "node:zlib";
import { z } from "zod";
import { LINE_EXTRA, sealLine } from "./line.ts";

/**
 * A frame is one write in the journal: lines for any number of streams, and where they belong.
 *   magic 4 · crc 4 · length of the lines 4 · length of the index 4 · number 8 · lines · index
 *
 * The index is JSON: [[stream, offset, length], …]. It follows the lines so that each line is encoded once, in place.
 * The magic begins with a byte that UTF-8 never has: what people write cannot look like a frame.
 */
export const FRAME_HEAD = 24;
const MAGIC = Buffer.from([0xff, 0x41, 0x47, 0x4a]);
const CRC_FROM = 8;
const LEAST_BUFFER = 8 * 1024;
const MOST_KEPT = 4 * 1024 * 1024;

export interface Segment {
  /** Relative to the home. */
  path: string;
  offset: number;
  bytes: Buffer;
}

export interface JournalFrame {
  number: number;
  segments: Segment[];
  /** Where the next frame begins. */
  end: number;
}

/** Builds frames in one buffer that is reused: only one frame is in progress at a time. */
export class FrameWriter {
  #buffer = Buffer.alloc(0);
  #at = FRAME_HEAD;
  #segments: [path: string, offset: number, length: number][] = [];

  /** Adds the lines of one stream; returns how many bytes they take. */
  add(path: string, offset: number, heads: readonly string[]): number {
    const start = this.#at;
    for (const head of heads) {
      this.#reserve(head.length * 3 + LINE_EXTRA);
      this.#at = sealLine(this.#buffer, this.#at, this.#at + this.#buffer.write(head, this.#at));
    }
    this.#segments.push([path, offset, this.#at - start]);
    return this.#at - start;
  }

  finish(number: number): Buffer {
    const lines = this.#at - FRAME_HEAD;
    const index = JSON.stringify(this.#segments);
    this.#reserve(index.length * 3);
    const indexBytes = this.#buffer.write(index, this.#at);
    const frame = this.#buffer.subarray(0, this.#at + indexBytes);
    MAGIC.copy(frame);
    frame.writeUInt32LE(lines, 8);
    frame.writeUInt32LE(indexBytes, 12);
    frame.writeDoubleLE(number, 16);
    frame.writeUInt32LE(crc32(frame.subarray(CRC_FROM)), 4);
    return frame;
  }

  reset(): void {
    this.#at = FRAME_HEAD;
    this.#segments = [];
    if (this.#buffer.length > MOST_KEPT) this.#buffer = Buffer.alloc(0);
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#at + bytes, LEAST_BUFFER));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}

/** The frame that begins at `at`, or undefined if there is no complete one. */
export function readFrame(journal: Buffer, at: number): JournalFrame | undefined {
  if (at + FRAME_HEAD > journal.length || journal.compare(MAGIC, 0, MAGIC.length, at, at + MAGIC.length) !== 0)
    return undefined;
  const lines = journal.readUInt32LE(at + 8);
  const indexBytes = journal.readUInt32LE(at + 12);
  const indexAt = at + FRAME_HEAD + lines;
  const end = indexAt + indexBytes;
  if (end > journal.length || crc32(journal.subarray(at + CRC_FROM, end)) !== journal.readUInt32LE(at + 4))
    return undefined;
  const segments: Segment[] = [];
  let from = at + FRAME_HEAD;
  for (const [path, offset, length] of indexSchema.parse(JSON.parse(journal.toString("utf8", indexAt, end)))) {
    segments.push({ path, offset, bytes: journal.subarray(from, from + length) });
    from += length;
  }
  return { number: journal.readDoubleLE(at + 16), segments, end };
}

/** The position after `at` where the next thing that looks like a frame begins. */
export function nextMagic(journal: Buffer, at: number): number {
  const found = journal.indexOf(MAGIC, at);
  return found === -1 ? journal.length : found;
}

const indexSchema = z.array(z.tuple([z.string(), z.int().nonnegative(), z.int().nonnegative()]));
