import { type Dirent, readdir, rmdir, unlink } from "node:fs";
import { promisify } from "node:util";
import { closeFolder, type Folder, WalkError } from "./folder.ts";
import { openFolderBelow } from "./walk.ts";

const list: (path: string, options: { withFileTypes: true; encoding: "buffer" }) => Promise<Dirent<Buffer>[]> =
  promisify(readdir);
const removeFile = promisify(unlink);
const removeFolder = promisify(rmdir);

/** A tree that grows deeper while it is removed must not use up our file handles. */
const MAX_DEPTH = 64;

/**
 * Removes a folder and everything in it, as far as that is possible; returns whether it is gone.
 *
 * REMOVE-TREE-1. No link is followed, even if another process replaces a folder by a link meanwhile: each folder is
 *     opened relative to its parent.
 * REMOVE-TREE-2. Names are taken as bytes, so that those which are not UTF-8 are removed too.
 * REMOVE-TREE-3. What cannot be removed is left, without an error: another process may still write there.
 */
export async function removeTree(parent: Folder, name: string, depth = 0): Promise<boolean> {
  let folder: Folder;
  try {
    folder = openFolderBelow(parent, name, []);
  } catch (error) {
    if (error instanceof WalkError) return error.kind === "missing";
    throw error;
  }
  try {
    for (const child of await list(pathIn(folder), { withFileTypes: true, encoding: "buffer" })) {
      const text = child.name.toString("utf8");
      const isPlain = Buffer.from(text).equals(child.name);
      if (child.isDirectory() && isPlain && depth < MAX_DEPTH) await removeTree(folder, text, depth + 1);
      else await ignoringWalkErrors(() => removeFile(bytesIn(folder, child.name)));
    }
  } finally {
    closeFolder(folder);
  }
  return ignoringWalkErrors(() => removeFolder(bytesIn(parent, Buffer.from(name))));
}

async function ignoringWalkErrors(step: () => Promise<void>): Promise<boolean> {
  try {
    await step();
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ENOENT";
  }
}

function pathIn(folder: Folder): string {
  return process.platform === "linux" ? `/proc/self/fd/${folder.fd}` : folder.path;
}

function bytesIn(folder: Folder, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${pathIn(folder)}/`), name]);
}
