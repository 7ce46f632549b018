import { dirname } from "node:path";
import { type Disk, type DiskFile, isDiskFull } from "./disk.ts";
import { nodeDisk } from "./node-disk.ts";

let written = 0;

/** A small file as a whole or not at all, on disk when it resolves: written aside, synced, renamed, the folder synced. */
export async function writeFileAtomic(
  path: string,
  content: string | Uint8Array,
  disk: Disk = nodeDisk,
): Promise<void> {
  // A name of its own for each, so that two writers of one file do not write into each other.
  const aside = `${path}.${process.pid}-${++written}.tmp`;
  // Pids come again: a file of this name may be left from a process that died.
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

/** Whole or not at all, but perhaps lost in a crash: for what can be made again. */
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
