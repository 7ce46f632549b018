import { writeSync } from "node:fs";
import { contentOf } from "./content.ts";
import { closeFolder, type Folder, glance, WalkError } from "./folder.ts";
import { FolderChain } from "./folder-chain.ts";
import { removeIn } from "./folder-changes.ts";
import { type FolderVisitor, type TreeBounds, walkTree } from "./tree-walk.ts";
import { type OpenFile, openFile, openFileToWrite, openFolder } from "./walk.ts";
import { writeWhole } from "./whole-file.ts";

/**
 * Files in a folder to which an untrusted program also writes: its home, and its working folder.
 *
 * FOREIGN-FOLDER-1. No link is followed, neither on the way nor at the end, and only regular files are opened.
 * FOREIGN-FOLDER-2. A large file costs no more memory than was asked for.
 */
export async function putFile(root: string, path: string, content: string | Uint8Array): Promise<void> {
  await inFolderOf(root, path, { createFrom: 0 }, (folder, name) =>
    writeWhole(folder, name, typeof content === "string" ? Buffer.from(content) : content),
  );
}

/** At most `maxBytes` from `from` on; undefined if there is no such regular file. */
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
    if (error instanceof WalkError) return undefined;
    throw error;
  }
}

/**
 * An open file, for reading in parts. WalkError says why not: a file with a second hard link counts as a link, too.
 */
export function openIn(root: string, path: string): OpenFile {
  const parts = path.split("/");
  const name = parts.pop() ?? "";
  const folder = openFolder(root, parts);
  try {
    const file = openFile(folder, name);
    if (!file.linked) return file;
    file.close();
    throw new WalkError("link", path);
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
 * The newest regular files in a folder and below it, at most this many. Breadth first, with a limit on what is visited,
 * so that an endless tree costs no more than a large one; `more` means that something was left out.
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

/** The regular files below a folder within these limits; none if there is no such folder. */
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
    if (error instanceof WalkError) return { files, more: false };
    throw error;
  }
}

/** Appends to a file in place, so that a process that has it open sees it grow; creates it if necessary. */
export async function appendToForeign(root: string, path: string, text: string): Promise<void> {
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

/** When a file was last changed, in nanoseconds; undefined if there is none. */
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
    if (error instanceof WalkError) return undefined;
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
