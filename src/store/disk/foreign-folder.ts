import { writeSync } from "node:fs";
import { contentOf } from "./content.ts";
import { closeFolder, type Folder, glance, WalkTrouble } from "./folder.ts";
import { FolderChain } from "./folder-chain.ts";
import { removeIn } from "./folder-changes.ts";
import { type FolderVisitor, type TreeBounds, walkTree } from "./tree-walk.ts";
import { type OpenFile, openFile, openFileToWrite, openFolder } from "./walk.ts";
import { writeWhole } from "./whole-file.ts";

/**
 * Files in a folder that a program outside of our control writes to as well: its home, and where it works.
 *
 * FOREIGN-FOLDER-1. No link of its making is followed, neither on the way nor at the end, and nothing but regular files
 *     is opened.
 * FOREIGN-FOLDER-2. What it makes large costs no more memory than was asked for.
 */
export async function putFile(root: string, path: string, content: string | Uint8Array): Promise<void> {
  await inFolderOf(root, path, { createFrom: 0 }, (folder, name) =>
    writeWhole(folder, name, typeof content === "string" ? Buffer.from(content) : content),
  );
}

/** At most `maxBytes` from `from` on; undefined where there is no such regular file. */
export async function readPart(
  root: string,
  path: string,
  from: number,
  maxBytes: number,
): Promise<Buffer | undefined> {
  try {
    return await inFolderOf(root, path, {}, async (folder, name) => {
      const file = openFile(folder, name);
      try {
        return await partOf(file.fd, from, maxBytes);
      } finally {
        file.close();
      }
    });
  } catch (error) {
    if (error instanceof WalkTrouble) return undefined;
    throw error;
  }
}

/** An open file, for reading in parts. WalkTrouble says why not: one that has another name elsewhere is a link too. */
export function openIn(root: string, path: string): OpenFile {
  const parts = path.split("/");
  const name = parts.pop() ?? "";
  const folder = openFolder(root, parts);
  try {
    const file = openFile(folder, name);
    if (!file.linked) return file;
    file.close();
    throw new WalkTrouble("link", path);
  } finally {
    closeFolder(folder);
  }
}

export interface ForeignFile {
  /** As seen from the folder. */
  path: string;
  bytes: number;
  /** When it was last changed, in seconds. */
  at: number;
}

/**
 * The regular files in a folder and below it: the newest, at most so many. Breadth first, and only so much is looked at,
 * so that a tree without end costs no more than a large one; `more` says that something was left out.
 */
export async function filesIn(
  root: string,
  dir: string,
  most: number,
): Promise<{ files: ForeignFile[]; more: boolean }> {
  const { files, more } = await allFilesIn(root, dir.split("/"), { folders: 501, names: 5000, deepest: 16 });
  const newest = files.sort((a, b) => b.at - a.at || (a.path < b.path ? -1 : 1));
  return { files: newest.slice(0, most), more: more || files.length > most };
}

/** The regular files below a folder within these bounds; none where there is no such folder. */
export async function allFilesIn(
  root: string,
  parts: readonly string[],
  bounds: Partial<TreeBounds>,
): Promise<{ files: ForeignFile[]; more: boolean }> {
  const files: ForeignFile[] = [];
  const look: FolderVisitor = async (folder, below, names, slices) => {
    const folders: string[] = [];
    for (const name of names) {
      if (slices.isDue) await slices.rest();
      const stat = glance(folder, name);
      if (stat?.isDirectory()) folders.push(name);
      if (!stat?.isFile()) continue;
      const path = [...below, name].join("/");
      files.push({ path, bytes: Number(stat.size), at: Number(stat.mtimeNs) / 1e9 });
    }
    return folders;
  };
  try {
    using chain = new FolderChain(root, parts);
    const { more } = await walkTree(chain, look, bounds);
    return { files, more };
  } catch (error) {
    if (error instanceof WalkTrouble) return { files, more: false };
    throw error;
  }
}

/** Adds to the end of a file in place, so that who has it open sees it grow; made where there is none. */
export async function appendTo(root: string, path: string, text: string): Promise<void> {
  await inFolderOf(root, path, { createFrom: 0 }, async (folder, name) => {
    const there = fileToAppend(folder, name);
    if (!there) return writeWhole(folder, name, Buffer.from(text));
    try {
      const bytes = Buffer.from(text);
      // By position, since the file was opened without O_APPEND; nobody but us writes to it unless it plays tricks.
      for (let at = 0; at < bytes.length; ) at += writeSync(there.fd, bytes, at, bytes.length - at, there.size + at);
    } finally {
      there.close();
    }
  });
}

/** When a file was last changed, in nanoseconds; undefined where there is none. */
export function changedAt(root: string, name: string): bigint | undefined {
  const folder = openFolder(root, []);
  try {
    return glance(folder, name)?.mtimeNs;
  } finally {
    closeFolder(folder);
  }
}

export function removeFile(root: string, name: string): void {
  const folder = openFolder(root, []);
  try {
    removeIn(folder, name);
  } finally {
    closeFolder(folder);
  }
}

/** What stands in the place of the file and is none, or has another name somewhere, is replaced. */
function fileToAppend(folder: Folder, name: string) {
  try {
    const file = openFileToWrite(folder, name);
    if (!file.linked) return file;
    file.close();
    return undefined;
  } catch (error) {
    if (error instanceof WalkTrouble) return undefined;
    throw error;
  }
}

async function partOf(fd: number, from: number, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let at = 0;
  for await (const part of contentOf(fd)) {
    const wanted = part.subarray(Math.max(0, from - at), Math.max(0, from + maxBytes - at));
    if (wanted.length > 0) parts.push(Buffer.from(wanted));
    at += part.length;
    if (at >= from + maxBytes) break;
  }
  return Buffer.concat(parts);
}

async function inFolderOf<T>(
  root: string,
  path: string,
  options: { createFrom?: number },
  use: (folder: Folder, name: string) => T | Promise<T>,
): Promise<T> {
  const parts = path.split("/");
  const name = parts.pop() ?? "";
  const folder = openFolder(root, parts, options);
  try {
    return await use(folder, name);
  } finally {
    closeFolder(folder);
  }
}
