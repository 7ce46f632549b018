import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { MessageHeader } from "../protocol/index.ts";
import type { QueueName } from "./layout.ts";
import { format, MAX_MESSAGE, parse } from "./message-file.ts";
import type { Queues } from "./queue.ts";

/** A message, read from its file. */
export interface Letter {
  /** The name of its file, by which everybody knows it. */
  name: string;
  header: MessageHeader;
  body: string;
}

/** Undefined when it is not there any more; a reason when it is no message. */
export function readLetter(queues: Queues, queue: QueueName, name: string): Letter | { reason: string } | undefined {
  let file: number;
  try {
    // No link is followed, and what is no plain file (a fifo would make us wait) is not read.
    file = openSync(queues.path(queue, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    return { reason: `It cannot be read (${code}).` };
  }
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) return { reason: "It is no plain file." };
    if (stat.size > MAX_MESSAGE) return { reason: `It has ${stat.size} bytes; a message has at most ${MAX_MESSAGE}.` };
    const bytes = readFileSync(file);
    if (!isUtf8(bytes)) return { reason: "It is not UTF-8." };
    const parsed = parse(bytes.toString("utf8"));
    return parsed.ok ? { name, header: parsed.header, body: parsed.body } : { reason: parsed.reason };
  } finally {
    closeSync(file);
  }
}

/**
 * Writes a message aside and has it taken in by one rename. The name it got there. Nobody waits for the disk: what we post
 * follows from a message that is still in `active`, and a power failure that empties it has it made again.
 */
export function post(
  queues: Queues,
  queue: QueueName,
  name: string,
  header: MessageHeader,
  body: string,
  tmp: string,
): string | undefined {
  const aside = join(tmp, `${process.pid}-${++written}.md`);
  mkdirSync(tmp, { recursive: true });
  const file = openSync(aside, "w", 0o600);
  try {
    writeSync(file, format(header, body));
  } finally {
    closeSync(file);
  }
  return queues.take(aside, queue, name);
}

let written = 0;

/**
 * What follows from a message is named after it: whoever makes it again after a crash finds it by its name, in whichever
 * queue it is by then.
 */
export function derivedName(name: string, suffix: string): string {
  const stem = stemOf(name);
  const short = stem.length <= 120 ? stem : `${stem.slice(0, 100)}-${hash(stem)}`;
  return `${short}.${suffix}.md`;
}

export function stemOf(name: string): string {
  return name.replace(/\.md$/, "");
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
