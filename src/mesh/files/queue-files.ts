import { linkSync, lstatSync, mkdirSync, readdirSync, renameSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import type { QueueName } from "./layout.ts";

/** Queue folders on disk: what is in them, and the two ways to move a message into one. */

/** How long a file must be unchanged before it counts as complete. */
export const UNCHANGED_MS = 100;

/** Temporary files of editors, hidden files and the reasons beside quarantined messages are not messages. */
export function isMessageName(name: string, queue: QueueName): boolean {
  return name.endsWith(".md") && !name.startsWith(".") && !(queue === "quarantine" && name.endsWith(".reason.md"));
}

export interface Arrival {
  /** When it came there, in nanoseconds. */
  at: bigint;
  isYoung: boolean;
}

export function messagesIn(dir: string, queue: QueueName): Map<string, Arrival> {
  const found = new Map<string, Arrival>();
  const now = Date.now();
  for (const name of namesIn(dir, queue)) {
    const stat = lstatSync(join(dir, name), { bigint: true, throwIfNoEntry: false });
    if (!stat) continue;
    // Somebody may still be writing it; others write to these two queues only.
    const isOpen = queue === "inbox" || queue === "outbox";
    const isYoung = isOpen && Math.abs(now - Number(stat.mtimeMs)) < UNCHANGED_MS;
    // The outbox is read in the order in which it was written: we rewrite its messages (loop-guard.ts).
    const at = queue === "outbox" ? stat.mtimeMs * 1_000_000n : stat.ctimeNs;
    found.set(name, { at, isYoung });
  }
  return found;
}

/** When a file arrived in its folder, in nanoseconds. */
export function arrivalOf(path: string): bigint | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ctimeNs;
}

export function namesIn(dir: string, queue: QueueName): string[] {
  try {
    return readdirSync(dir).filter((name) => isMessageName(name, queue));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR") throw error;
    // Somebody deleted the folder, and what was in it is gone. The next message creates it again.
    return [];
  }
}

export function byArrival([a, { at }]: [string, Arrival], [b, { at: bt }]: [string, Arrival]): number {
  return compare(at, bt) || (a < b ? -1 : 1);
}

export function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** True also for a link or a fifo, although those are not messages. */
export function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Unlike a rename, this never overwrites a file. False if the name is taken. */
export function linked(aside: string, to: string): boolean {
  try {
    linkSync(aside, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    if (code === "ENOENT" && exists(aside)) {
      // Somebody deleted the folder.
      mkdirSync(dirname(to), { recursive: true });
      return linked(aside, to);
    }
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EOPNOTSUPP") throw error;
    // A file system without links.
    if (exists(to)) return false;
    renameSync(aside, to);
    return true;
  }
  try {
    unlinkSync(aside);
  } catch {
    // It is in its place; the temporary file is deleted at a later start.
  }
  return true;
}

export function renamed(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT") throw error;
    if (!exists(from)) return false;
    // Somebody deleted the folder it goes to.
    mkdirSync(dirname(to), { recursive: true });
    renameSync(from, to);
    return true;
  }
}
