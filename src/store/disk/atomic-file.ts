import { dirname } from "node:path";
import { type Disk, type DiskFile, isDiskFull } from "./disk.ts";
import { nodeDisk } from "./node-disk.ts";

/**
 * Writes a small file atomically and durably: to a temporary file, synced, renamed, the folder synced. One writer at a
 * time: the caller holds the home's lock, or works on the node.
 */
export async function writeFileAtomic(
  path: string,
  content: string | Uint8Array,
  disk: Disk = nodeDisk,
): Promise<void> {
  // Always the same name: what a process that died has left there goes with the next, and litter cannot grow.
  const aside = `${path}.tmp`;
  disk.remove(aside);
  const file = disk.open(aside, "write");
  try {
    await fill(file, content);
    disk.rename(aside, path);
  } catch (error) {
    disk.remove(aside);
    throw error;
  }
  await disk.syncDir(dirname(path));
}

/** Atomic, but may be lost in a crash: for files that can be rebuilt. */
export function replaceFile(path: string, content: string | Uint8Array, disk: Disk = nodeDisk): void {
  const aside = `${path}.tmp`;
  const file = disk.open(aside, "write");
  try {
    if (file.size() > 0) file.truncate(0);
    file.write(asBytes(content), 0);
  } catch (error) {
    if (isDiskFull(error)) disk.remove(aside);
    throw error;
  } finally {
    file.close();
  }
  disk.rename(aside, path);
}

async function fill(file: DiskFile, content: string | Uint8Array): Promise<void> {
  try {
    file.write(asBytes(content), 0);
    await file.sync();
  } finally {
    file.close();
  }
}

function asBytes(content: string | Uint8Array): Uint8Array {
  return typeof content === "string" ? Buffer.from(content) : content;
}
