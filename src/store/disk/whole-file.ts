import { closeSync, fdatasync, writeSync } from "node:fs";
import { promisify } from "node:util";
import { type Folder, glance, WalkError } from "./folder.ts";
import { createFileAside, removeIn, renameIn } from "./folder-changes.ts";
import { openFileToWrite } from "./walk.ts";

/** The name of a file until it is completely written; a crash may leave one behind. */
export const UNFINISHED = ".agiraph-unfinished-";

/** What fits into a page is written by the system in one piece: no kill leaves a part of it. */
const ONE_PIECE = 4096;

const syncData = promisify(fdatasync);

/**
 * Puts a file into an open folder: written to a temporary file, synced (unless it can be rebuilt), then renamed over
 * whatever has the name. Nobody ever sees a part of it, and a link of that name is replaced, not followed.
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
  const fd = await createFileAside(folder, aside, mode).catch((error: unknown) => {
    if (!(error instanceof WalkError && error.kind === "in_the_way")) throw error;
    // Left by a process of the same number that died.
    removeIn(folder, aside);
    return createFileAside(folder, aside, mode);
  });
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

/**
 * Adds a file that can be rebuilt, unless the name is taken; returns whether it did. A crash may leave it empty, but
 * never in part. It is written in place, since a temporary file and a rename cost twice as much.
 */
export async function addWhole(folder: Folder, name: string, content: Uint8Array): Promise<boolean> {
  if (content.length <= ONE_PIECE) return addedInPlace(folder, name, content);
  if (glance(folder, name)) return false;
  await writeWhole(folder, name, content, "unsynced");
  return true;
}

/**
 * Replaces a file that can be rebuilt. If one write covers everything that is there, it is overwritten in place:
 * replacing it by another file is a deletion, and whenever ext4 creates a file it looks at every file deleted in the
 * last minutes, so a team that replaces its files slows down its own start.
 */
export async function rewriteWhole(folder: Folder, name: string, content: Uint8Array): Promise<void> {
  if (!overwritten(folder, name, content)) await writeWhole(folder, name, content, "unsynced");
}

async function addedInPlace(folder: Folder, name: string, content: Uint8Array): Promise<boolean> {
  let fd: number;
  try {
    fd = await createFileAside(folder, name, 0o600);
  } catch (error) {
    if (error instanceof WalkError && error.kind === "in_the_way") return false;
    throw error;
  }
  try {
    writeAll(fd, content);
    return true;
  } catch (error) {
    removeIn(folder, name);
    throw error;
  } finally {
    closeSync(fd);
  }
}

function overwritten(folder: Folder, name: string, content: Uint8Array): boolean {
  if (content.length > ONE_PIECE) return false;
  let file: ReturnType<typeof openFileToWrite>;
  try {
    file = openFileToWrite(folder, name);
  } catch (error) {
    if (error instanceof WalkError) return false; // missing, a link, a folder: whatever it is, a rename deals with it
    throw error;
  }
  try {
    if (file.linked || file.size > content.length) return false;
    writeAll(file.fd, content);
    return true;
  } finally {
    file.close();
  }
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written);
}
