import { crc32 } from "node:zlib";
import type { Entry, Fact, StoredEntry } from "../../protocol/index.ts";

/**
 * One record, one line of JSON, its checksum the last field, so that `jq` and people still read it:
 *   {"seq":1, … ,"v":1,"crc":"89abcdef"}
 *
 * LINE-1. A record is serialised once; the same bytes go to the journal and to the file.
 * LINE-2. `crc` is the crc32 of the line's bytes before `,"crc"`.
 * LINE-3. JSON.stringify escapes newlines and lone surrogates, so a line is one line and valid UTF-8, whatever it
 *     holds.
 * LINE-4. Every line begins with `{"seq":`, so that a place in a file can be found without parsing what is on the way.
 */
export const RECORD_VERSION = 1;
const VERSION_FIELD = `,"v":${RECORD_VERSION}`;
/** `,"crc":"89abcdef"}` */
const SEAL_BYTES = 18;
/** What a line takes besides its head: the seal and the newline. */
export const LINE_EXTRA = SEAL_BYTES + 1;

/** A line up to its checksum, which is computed over bytes and therefore written by `sealLine`. */
export function factHead(fact: Fact): string {
  const actor = fact.actor === undefined ? "" : `,"actor":${JSON.stringify(fact.actor)}`;
  return `{"seq":${fact.seq},"type":"${fact.type}","agent_id":"${fact.agent_id}","ts":${fact.ts},"data":${JSON.stringify(fact.data)}${actor}${VERSION_FIELD}`;
}

export function entryHead(seq: number, ts: number, entry: Entry): string {
  const json = JSON.stringify("seq" in entry || "ts" in entry ? unnumbered(entry) : entry);
  return `{"seq":${seq},"ts":${ts},${json.slice(1, -1)}${VERSION_FIELD}`;
}

export function recordHead(seq: number, fields: Record<string, unknown>): string {
  return `{"seq":${seq},${JSON.stringify(fields).slice(1, -1)}${VERSION_FIELD}`;
}

/** Writes the seal and the newline after the head in `buffer` from `start` to `end`. Returns the new end. */
export function sealLine(buffer: Buffer, start: number, end: number): number {
  const crc = hex(crc32(buffer.subarray(start, end)));
  return end + buffer.write(`,"crc":"${crc}"}\n`, end, "latin1");
}

/** A whole line as bytes, for files that are not streams. */
export function lineBytes(head: string): Buffer {
  const buffer = Buffer.allocUnsafe(head.length * 3 + LINE_EXTRA);
  return buffer.subarray(0, sealLine(buffer, 0, buffer.write(head, 0)));
}

export interface Line {
  seq: number;
  version: number;
  crc: string;
  /** The record without `v` and `crc`. */
  json: string;
}

/** The line between `start` and `end` (without its newline), or undefined if it is damaged. */
export function decodeLine(buffer: Buffer, start: number, end: number): Line | undefined {
  const seal = end - SEAL_BYTES;
  const seq = seqAt(buffer, start, end);
  if (seal <= start || seq === undefined) return undefined;
  const tail = /,"v":(\d{1,9}),"crc":"([0-9a-f]{8})"\}$/.exec(
    buffer.toString("latin1", Math.max(start, seal - 14), end),
  );
  const [, version = "", crc = ""] = tail ?? [];
  if (tail === null || hex(crc32(buffer.subarray(start, seal))) !== crc) return undefined;
  const body = buffer.toString("utf8", start, seal - version.length - ',"v":'.length);
  return { seq, version: Number(version), crc, json: `${body}}` };
}

const SEQ_FIELD = Buffer.from('{"seq":');

/** The number a line begins with, without checking the line (LINE-4). */
export function seqAt(buffer: Buffer, start: number, end: number): number | undefined {
  const digits = start + SEQ_FIELD.length;
  if (digits >= end || buffer.compare(SEQ_FIELD, 0, SEQ_FIELD.length, start, digits) !== 0) return undefined;
  let seq = 0;
  let at = digits;
  for (; at < end; at++) {
    const digit = (buffer[at] ?? 0) - 48;
    if (digit < 0 || digit > 9) break;
    seq = seq * 10 + digit;
  }
  return at > digits && Number.isSafeInteger(seq) ? seq : undefined;
}

function hex(crc: number): string {
  return crc.toString(16).padStart(8, "0");
}

/** An entry that was read from a file and is appended again gets new numbers, not two of each. */
function unnumbered(entry: Entry): Entry {
  const { seq: _seq, ts: _ts, ...rest } = entry as Partial<StoredEntry>;
  return rest as Entry;
}
