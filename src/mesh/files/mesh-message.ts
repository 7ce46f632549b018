import { isUtf8 } from "node:buffer";
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { MessageHeader } from "../../protocol/index.ts";
import type { QueueName } from "./layout.ts";
import { format, MAX_MESSAGE, parse } from "./message-file.ts";
import { headOf } from "./message-names.ts";
import type { Queues } from "./queue.ts";

/** A message, read from its file. */
export interface MeshMessage {
  /** The name of its file, which identifies it. */
  name: string;
  header: MessageHeader;
  body: string;
}

/** Undefined if the file is gone; a reason if it is not a message. */
export function readMessage(
  queues: Queues,
  queue: QueueName,
  name: string,
): MeshMessage | { reason: string } | undefined {
  return readMessageFile(queues.path(queue, name), name);
}

export function readMessageFile(path: string, name: string): MeshMessage | { reason: string } | undefined {
  const text = readPlainFile(path, MAX_MESSAGE);
  if (text === undefined || typeof text === "object") return text;
  const parsed = parse(text);
  return parsed.ok ? { name, header: parsed.header, body: parsed.body } : { reason: parsed.reason };
}

/** No link is followed, and only regular files are read (a fifo would block us). */
function readPlainFile(path: string, limit: number): string | { reason: string } | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "EMFILE" || code === "ENFILE") throw error;
    return { reason: code === "ELOOP" ? "It is a link." : `It cannot be read (${code}).` };
  }
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) return { reason: "It is not a regular file." };
    if (stat.size > limit) return { reason: `It has ${stat.size} bytes; at most ${limit} are allowed.` };
    const bytes = readFileSync(file);
    return isUtf8(bytes) ? bytes.toString("utf8") : { reason: "It is not UTF-8." };
  } finally {
    closeSync(file);
  }
}

/**
 * Writes a message and moves it into a queue, whole. Returns its name there. The file is not synced: a message that we
 * post follows from one that is still in `active`, so it is posted again if a power failure loses it.
 */
export function postMessage(queues: Queues, queue: QueueName, message: MeshMessage, tmp: string): string {
  const { name, header, body } = message;
  const aside = join(tmp, `${process.pid}-${++written}.md`);
  mkdirSync(tmp, { recursive: true });
  try {
    const room = MAX_MESSAGE - Buffer.byteLength(format(header, ""));
    writeFileSync(aside, format(header, clipped(body, room)), { mode: 0o600 });
    return queues.take(aside, queue, name);
  } catch (error) {
    rmSync(aside, { force: true });
    throw error;
  }
}

/** Replaces a message atomically. It keeps its time, which determines the order of the outbox. */
export function rewriteMessage(path: string, { header, body }: MeshMessage, tmp: string): void {
  const aside = join(tmp, `${process.pid}-${++written}.md`);
  mkdirSync(tmp, { recursive: true });
  try {
    // Its sender may have been told that it was taken, so it is on the disk before it replaces the old one.
    writeFileSync(aside, format(header, body), { mode: 0o600, flush: true });
    const { atimeMs, mtimeMs } = statSync(path);
    utimesSync(aside, atimeMs / 1000, mtimeMs / 1000);
    renameSync(aside, path);
  } catch (error) {
    rmSync(aside, { force: true });
    throw error;
  }
}

let written = 0;

/** At most this many bytes of a text, with a note where it was cut. */
export function clipped(text: string, bytes: number): string {
  return Buffer.byteLength(text) <= bytes ? text : `${headOf(text, bytes - CUT.length)}${CUT}`;
}

const CUT = "\n\n(cut: it was too long for a message)\n";
