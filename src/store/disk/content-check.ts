import { fstatSync } from "node:fs";
import { sha256Of } from "./content.ts";

/**
 * Whether an open file still has the content it was recorded with.
 *
 * CHECK-1. A file that was hashed once is not read again until its inode, size or one of its times changes.
 * CHECK-2. A large file is read in parts, in the thread pool, and once for all who ask at the same time.
 */
export async function hasContent(fd: number, expected: { sha256: string; bytes: number }): Promise<boolean> {
  const stats = fstatSync(fd, { bigint: true });
  if (stats.size !== BigInt(expected.bytes)) return false;
  const key = keyOf(stats);
  const known = hashes.get(key) ?? sha256Of(fd).then(({ sha256 }) => sha256);
  keep(key, known);
  try {
    return (await known) === expected.sha256;
  } catch (error) {
    if (hashes.get(key) === known) hashes.delete(key);
    throw error;
  }
}

/** For a caller that has just written the file. */
export function rememberContent(fd: number, sha256: string | undefined): void {
  if (sha256 !== undefined) keep(keyOf(fstatSync(fd, { bigint: true })), Promise.resolve(sha256));
}

const MOST_KNOWN = 20_000;
const hashes = new Map<string, Promise<string>>();

function keep(key: string, hash: Promise<string>): void {
  hashes.delete(key);
  hashes.set(key, hash);
  for (const oldest of hashes.keys()) {
    if (hashes.size <= MOST_KNOWN) return;
    hashes.delete(oldest);
  }
}

interface Stamp {
  dev: bigint;
  ino: bigint;
  size: bigint;
  mtimeNs: bigint;
  ctimeNs: bigint;
}

function keyOf({ dev, ino, size, mtimeNs, ctimeNs }: Stamp): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join("-");
}
