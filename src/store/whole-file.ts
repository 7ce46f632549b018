import { closeSync, fdatasync, writeSync } from "node:fs";
import { promisify } from "node:util";
import { createFile, type Folder, removeIn, renameIn } from "./walk.ts";

/** A file being written carries this name until it is whole; a crash may leave one behind. */
export const UNFINISHED = ".agiraph-unfinished-";

const syncData = promisify(fdatasync);

/**
 * Puts a file into an open folder: written aside, synced (unless it can be made again), then renamed over whatever has the name. Nobody ever sees a
 * part of it, and a link of that name is replaced, not followed.
 */
export async function writeWhole(
  folder: Folder,
  name: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  how: "synced" | "unsynced" = "synced",
  mode = 0o600,
) {
  // The folder stays open until the file is whole, so that its descriptor makes the name unique in this process.
  const aside = `${UNFINISHED}${process.pid}-${folder.fd}`;
  removeIn(folder, aside);
  const fd = createFile(folder, aside, mode);
  try {
    try {
      if (content instanceof Uint8Array) writeAll(fd, content);
      else for await (const chunk of content) writeAll(fd, chunk);
      if (how === "synced") await syncData(fd);
    } finally {
      closeSync(fd);
    }
    renameIn(folder, aside, name);
  } catch (error) {
    removeIn(folder, aside);
    throw error;
  }
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written);
}
