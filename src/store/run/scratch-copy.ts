import { closeSync, fdatasync, fsync } from "node:fs";
import { promisify } from "node:util";
import type { PublishedFile } from "../../protocol/index.ts";
import { rememberContent } from "../disk/content-check.ts";
import { copyHashed } from "../disk/copy-file.ts";
import { closeFolder, type Folder, WalkError } from "../disk/folder.ts";
import { createFileAside, makeFolderAside } from "../disk/folder-changes.ts";
import { removeTree } from "../disk/remove-tree.ts";
import { openFile, openFolderBelow } from "../disk/walk.ts";
import { UNFINISHED } from "../disk/whole-file.ts";
import { MAX_PUBLISHED_BYTES, type ScratchSurvey, walkErrorWords } from "./publish-survey.ts";

/** Where the copy that becomes `published/` is made. It is never writable in a sandbox. */
export const COPY_FOLDER = `${UNFINISHED}published`;

/** So many files are written before they are synced together: the file system then needs one transaction for them all. */
const SYNCED_TOGETHER = 64;

const sync = promisify(fsync);
const syncData = promisify(fdatasync);

/** What is to be copied: folders, parents before their children, and the files in each. */
type Tree = ScratchSurvey["folders"];

/** Something in `scratch/` that the worker can fix. */
export class Unpublishable extends Error {
  override readonly name = "Unpublishable";
}

/**
 * Copies a tree of `scratch/` into a folder of its node that no sandbox can write to.
 *
 * SCRATCH-COPY-1. Every file is a new one, made by us, read-only, and hashed from the very bytes that are written: who still
 *          has `scratch/` or a file of it open cannot reach the copy.
 * SCRATCH-COPY-2. When it resolves, files and folders are on disk.
 * SCRATCH-COPY-3. It ends: each file is copied up to the length it has when it is opened, and all of them up to a limit.
 */
export async function copyScratch(node: Folder, tree: Tree): Promise<PublishedFile[]> {
  await discardCopy(node);
  const copied: PublishedFile[] = [];
  let room = MAX_PUBLISHED_BYTES;
  for (const { parts, files } of tree) {
    await inside(await makeCopyFolder(node, parts), (to) =>
      inside(openScratch(node, parts), async (from) => {
        for (let at = 0; at < files.length; at += SYNCED_TOGETHER) {
          const names = files.slice(at, at + SYNCED_TOGETHER);
          const batch = await copyBatch(from, to, parts, names, room);
          room -= batch.reduce((sum, { bytes }) => sum + bytes, 0);
          copied.push(...batch);
        }
      }),
    );
  }
  // Deepest first: a folder is synced when all in it is.
  for (const { parts } of tree.toReversed())
    await inside(openFolderBelow(node, COPY_FOLDER, parts), (folder) => sync(folder.fd));
  return copied.sort((a, b) => (a.path < b.path ? -1 : 1));
}

export async function discardCopy(node: Folder): Promise<void> {
  if (await removeTree(node, COPY_FOLDER)) return;
  throw new Error(`${node.path}/${COPY_FOLDER} could not be removed. Remove it by hand, then publish again.`);
}

async function makeCopyFolder(node: Folder, parts: readonly string[]): Promise<Folder> {
  const name = parts.at(-1);
  if (name === undefined) await makeFolderAside(node, COPY_FOLDER);
  else await inside(openFolderBelow(node, COPY_FOLDER, parts.slice(0, -1)), (above) => makeFolderAside(above, name));
  return openFolderBelow(node, COPY_FOLDER, parts);
}

function openScratch(node: Folder, parts: readonly string[]): Folder {
  return inWords(parts, "u+rx", () => openFolderBelow(node, "scratch", parts));
}

async function copyBatch(
  from: Folder,
  to: Folder,
  parts: readonly string[],
  names: readonly string[],
  room: number,
): Promise<PublishedFile[]> {
  const open: number[] = [];
  const copied: PublishedFile[] = [];
  try {
    for (const name of names) {
      const source = inWords([...parts, name], "u+r", () => openFile(from, name));
      try {
        room -= source.size;
        if (room < 0) throw new Unpublishable("scratch/ grows while it is being published: stop what writes there.");
        const fd = await createFileAside(to, name, source.executable ? 0o500 : 0o400);
        open.push(fd);
        copied.push({ path: [...parts, name].join("/"), ...(await copyHashed(source.fd, fd, source.size)) });
      } finally {
        source.close();
      }
    }
    await Promise.all(open.map((fd) => syncData(fd)));
    for (const [at, fd] of open.entries()) rememberContent(fd, copied[at]?.sha256);
  } finally {
    for (const fd of open) closeSync(fd);
  }
  return copied;
}

function inWords<T>(parts: readonly string[], mode: "u+r" | "u+rx", step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof WalkError)) throw error;
    throw new Unpublishable(`${walkErrorWords(`scratch/${parts.join("/")}`, error, mode)}.`, { cause: error });
  }
}

async function inside<T>(folder: Folder, use: (folder: Folder) => Promise<T>): Promise<T> {
  try {
    return await use(folder);
  } finally {
    closeFolder(folder);
  }
}
