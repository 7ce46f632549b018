import { createHash, hash } from "node:crypto";
import { ftruncateSync, read, readSync, write, writeSync } from "node:fs";
import { promisify } from "node:util";

const readAt = promisify(read);
const writeAt = promisify(write);
const CHUNK = 256 * 1024;
/** Files this small are copied synchronously: a trip through the thread pool costs more than the copy. */
const SMALL = 16 * 1024;
const ZEROS = Buffer.alloc(CHUNK);

/**
 * Copies the first `size` bytes of one open file to another, new one, and hashes what it writes. A file that grows
 * meanwhile is copied up to `size`, one that shrinks up to its end. Blocks of zeros become holes.
 */
export async function copyHashed(from: number, to: number, size: number): Promise<{ sha256: string; bytes: number }> {
  if (size <= SMALL) return copySmall(from, to, size);
  const sum = createHash("sha256");
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK, size));
  let at = 0;
  let isHole = false;
  while (at < size) {
    const { bytesRead } = await readAt(from, buffer, 0, Math.min(buffer.length, size - at), at);
    if (bytesRead === 0) break;
    const part = buffer.subarray(0, bytesRead);
    sum.update(part);
    isHole = ZEROS.compare(part, 0, bytesRead, 0, bytesRead) === 0;
    if (!isHole) await writeWhole(to, part, at);
    at += bytesRead;
  }
  if (isHole) ftruncateSync(to, at);
  return { sha256: sum.digest("hex"), bytes: at };
}

function copySmall(from: number, to: number, size: number): { sha256: string; bytes: number } {
  const buffer = Buffer.allocUnsafe(size);
  let filled = 0;
  for (let count = 1; filled < size && count > 0; filled += count)
    count = readSync(from, buffer, filled, size - filled, filled);
  const content = buffer.subarray(0, filled);
  for (let done = 0; done < filled; ) done += writeSync(to, content, done, filled - done, done);
  return { sha256: hash("sha256", content), bytes: filled };
}

async function writeWhole(fd: number, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await writeAt(fd, bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}
