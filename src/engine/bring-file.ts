import { createHash, hash } from "node:crypto";
import { fstatSync, read } from "node:fs";
import { promisify } from "node:util";
import { closeFolder } from "../store/disk/folder.ts";
import { openFile, openFolder } from "../store/disk/walk.ts";
import { known, PART_BYTES, putLarge } from "./contents.ts";
import type { Queries } from "./database.ts";
import { fileStamp } from "./tree-index.ts";
import { isOutOfReach, modeOf } from "./tree-look.ts";

/** A file as it was at one moment. Of a small one the content is here; that of a large one is in the engine. */
export interface BroughtFile {
  mode: number;
  hash: string;
  stamp: string;
  content: Buffer | undefined;
}

/**
 * Sees to it that the content of a file is in the engine, or is small enough to be sent along with its entry.
 *
 * BRING-FILE-1. Undefined where it cannot be read, or was changed meanwhile: then it has to be put another time.
 */
export async function bringFile(queries: Queries, folder: string, path: string): Promise<BroughtFile | undefined> {
  const parts = path.split("/");
  const name = parts.pop() ?? "";
  try {
    const within = openFolder(folder, parts);
    try {
      const file = openFile(within, name);
      try {
        return await put(queries, file.fd);
      } finally {
        file.close();
      }
    } finally {
      closeFolder(within);
    }
  } catch (error) {
    if (isOutOfReach(error)) return undefined;
    throw error;
  }
}

async function put(queries: Queries, fd: number): Promise<BroughtFile | undefined> {
  const before = fstatSync(fd, { bigint: true });
  const stamp = fileStamp(before);
  const isSame = () => fileStamp(fstatSync(fd, { bigint: true })) === stamp;
  const size = Number(before.size);
  const mode = modeOf(before);
  if (size <= PART_BYTES) {
    const content = await readAt(fd, 0, PART_BYTES + 1);
    const isWhole = content.length === size && isSame();
    return isWhole ? { mode, hash: hash("sha256", content), stamp, content } : undefined;
  }
  const sum = createHash("sha256");
  for await (const part of partsOf(fd)) sum.update(part);
  if (!isSame()) return undefined;
  const whole = sum.digest("hex");
  const isThere = (await known(queries, [whole])).has(whole);
  if (!isThere && !(await putLarge(queries, whole, size, partsOf(fd)))) return undefined;
  return isSame() ? { mode, hash: whole, stamp, content: undefined } : undefined;
}

async function* partsOf(fd: number): AsyncGenerator<Buffer> {
  for (let at = 0; ; ) {
    const part = await readAt(fd, at, PART_BYTES);
    if (part.length > 0) yield part;
    if (part.length < PART_BYTES) return;
    at += part.length;
  }
}

/** So many bytes, or fewer where the file ends. */
async function readAt(fd: number, at: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes);
  let filled = 0;
  while (filled < bytes) {
    const { bytesRead } = await readSome(fd, buffer, filled, bytes - filled, at + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

const readSome = promisify(read);
