import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { MessageHeader } from "../../protocol/index.ts";
import { type Layout, type MeshAddress, QUEUES, type QueueName } from "./layout.ts";
import { format, MAX_MESSAGE, titleOf } from "./message-file.ts";
import { fileNameOf } from "./message-names.ts";

export interface NewMessage {
  from: string;
  to: string;
  type: MessageHeader["type"];
  body: string;
  /** What it answers. */
  answers?: string;
  /** Called with its name before it is there. */
  named?(name: string): void;
}

/** The message is too long. */
export class MessageTooLong extends Error {
  override readonly name = "MessageTooLong";
}

/**
 * Puts a message into a queue, from outside the process that runs the meshes: atomically, under a name that is not in
 * any of the queues. Returns the name.
 */
export function putMessage(
  layout: Layout,
  address: MeshAddress,
  queue: QueueName,
  at: Date,
  message: NewMessage,
): string {
  const { from, to, type, body, answers, named } = message;
  for (let counter = 1; ; counter++) {
    const name = fileNameOf(at, counter, titleOf(body));
    if (isThere(layout, address, name)) continue;
    const header: MessageHeader = {
      from,
      to,
      type,
      status: type === "task" || type === "ask" ? "pending" : "complete",
      "msg-id": name.replace(/\.md$/, ""),
      timestamp: at.toISOString(),
      ...(answers !== undefined && { "in-reply-to": answers }),
    };
    named?.(name);
    if (putMessageFile(layout, address, queue, name, format(header, `${body.trimEnd()}\n`))) return name;
  }
}

/** False if the name is taken. */
export function putMessageFile(
  layout: Layout,
  address: MeshAddress,
  queue: QueueName,
  name: string,
  text: string,
): boolean {
  if (Buffer.byteLength(text) > MAX_MESSAGE)
    throw new MessageTooLong(
      `A message has at most ${MAX_MESSAGE} bytes. Put it into a file in shared/output and name that.`,
    );
  const { tmp } = layout;
  mkdirSync(tmp, { recursive: true });
  mkdirSync(layout.queue(address, queue), { recursive: true });
  const aside = join(tmp, `out-${process.pid}-${++written}.md`);
  try {
    // The sender relies on it: the file is on the disk before it is in the queue, and then the folder is synced.
    writeFileSync(aside, text, { mode: 0o600, flush: true });
    linkSync(aside, join(layout.queue(address, queue), name));
    syncFolder(layout.queue(address, queue));
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    // A file system without links; nobody else writes this very name at the same moment.
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EOPNOTSUPP") throw error;
    if (existsSync(join(layout.queue(address, queue), name))) return false;
    renameSync(aside, join(layout.queue(address, queue), name));
    return true;
  } finally {
    rmSync(aside, { force: true });
  }
}

function syncFolder(dir: string): void {
  let folder: number | undefined;
  try {
    folder = openSync(dir, "r");
    fsyncSync(folder);
  } catch {
    // Some file systems cannot sync folders.
  } finally {
    if (folder !== undefined) closeSync(folder);
  }
}

let written = 0;

/** The queue that a message of this name is in. */
export function queueOf(layout: Layout, address: MeshAddress, name: string): QueueName | undefined {
  return QUEUES.find((queue) => existsSync(join(layout.queue(address, queue), name)));
}

function isThere(layout: Layout, address: MeshAddress, name: string): boolean {
  return queueOf(layout, address, name) !== undefined;
}
