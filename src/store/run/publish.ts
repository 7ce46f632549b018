import { fchmodSync, fsync } from "node:fs";
import { promisify } from "node:util";
import type { PublishedFile } from "../../protocol/index.ts";
import { hasContent } from "../disk/content-check.ts";
import { childrenOf, closeFolder, type Folder, glance, WalkError } from "../disk/folder.ts";
import { makeFolderAside, moveFolderIn, moveTo, removeIn } from "../disk/folder-changes.ts";
import { removeTree } from "../disk/remove-tree.ts";
import { openFile, openFolder, openFolderBelow } from "../disk/walk.ts";
import { UNFINISHED } from "../disk/whole-file.ts";
import { reasonAgainst, survey } from "./publish-survey.ts";
import { COPY_FOLDER, copyScratch, discardCopy, Unpublishable } from "./scratch-copy.ts";

export { MAX_PUBLISHED_FILES, PROTOCOL_FILES } from "./publish-survey.ts";

/**
 * Publishing: a copy of `scratch/` becomes `published/`.
 *
 * PUBLISH-1. The order is: prepare → the fact `node.published` with the manifest on disk → finish → `node.completed`.
 *     Before the fact nothing has been published; after it recovery finishes.
 * PUBLISH-2. `published/` is all or nothing: everything is copied, hashed, synced and read-only before ONE rename puts
 *     it there.
 * PUBLISH-3. Every step may be done again, from wherever a crash left it.
 * PUBLISH-4. What was said by files (`PROTOCOL_FILES`) is not part of the work: it is put beside it, into `protocol/`.
 * PUBLISH-5. Only regular files and folders are published, each readable by the path in the manifest.
 * PUBLISH-6. Nobody who wrote the files can reach what is published: the copies are new files in a folder that no
 *     sandbox ever had bound to write, and the `scratch/` that a process may still hold is replaced by a new one before
 *     the rename.
 */
export async function preparePublish(dir: string, deliverables: readonly string[]): Promise<PreparedPublish> {
  const found = survey(dir);
  const reason = reasonAgainst(found, deliverables);
  if (reason) return { ok: false, reason };
  return inFolder(dir, [], async (node) => {
    try {
      const files = await copyScratch(node, found.folders);
      if (found.protocol.length > 0) await putAside(dir, found.protocol);
      return { ok: true, files };
    } catch (error) {
      // Where the disk is full, the copy must not be what keeps it full.
      await removeTree(node, COPY_FOLDER);
      if (error instanceof Unpublishable) return { ok: false, reason: error.message };
      throw error;
    }
  });
}

/** Why this cannot be published as it is, or undefined. Read-only. */
export function problemPublishing(dir: string, deliverables: readonly string[]): string | undefined {
  return reasonAgainst(survey(dir), deliverables);
}

export type PreparedPublish = { ok: true; files: PublishedFile[] } | { ok: false; reason: string };

/** After the fact is on disk: the one rename. With `verify` every hash is computed again before. */
export async function finishPublish(
  dir: string,
  files: readonly PublishedFile[],
  { verify = false } = {},
): Promise<void> {
  await inFolder(dir, [], async (node) => {
    if (!(await holds(node, "published", files, verify))) {
      const isCopied = (await holds(node, COPY_FOLDER, files, verify)) || (await copiedAgain(node, files));
      if (!isCopied) throw new PublishLost(dir, files);
      // Before the rename: where `published/` stands, `scratch/` is new, and what is in it is new work.
      await renewScratch(node);
      discardLitter(node);
      await moveFolderIn(node, COPY_FOLDER, "published");
    }
    await makeFolderAside(node, "scratch");
    await sync(node.fd);
    await removeDiscarded(node);
  });
}

/** From any state that a crash may have left, once the fact `node.published` exists. */
export async function recoverPublish(dir: string, files: readonly PublishedFile[]): Promise<void> {
  await finishPublish(dir, files, { verify: true });
}

/** Turns a published part back into work, from wherever a crash left it: in `scratch/`, where it can be changed. */
export async function reopenPublish(dir: string): Promise<void> {
  await inFolder(dir, [], async (node) => {
    const isThere = await inFolder(dir, ["published"], async (open) => childrenOf(open, 1).children.length > 0);
    if (!isThere) return;
    await makeFolderAside(node, "scratch");
    await inFolder(dir, ["published"], async (published) => {
      await inFolder(dir, ["scratch"], async (scratch) => moveMissing(published, scratch));
    });
    await removeTree(node, "published");
    await makeFolderAside(node, "published");
    await sync(node.fd);
  });
  await undoPublish(dir);
}

/** What was put into `scratch/` since then is newer, and stays: a person may have begun before the node was theirs. */
function moveMissing(from: Folder, to: Folder): void {
  for (const { name } of childrenOf(from, Number.POSITIVE_INFINITY).children) {
    const there = glance(to, name);
    if (!there) moveTo(from, name, to);
    else if (there.isDirectory() && glance(from, name)?.isDirectory()) {
      const [below, into] = [openFolderBelow(from, name, []), openFolderBelow(to, name, [])];
      try {
        moveMissing(below, into);
      } finally {
        closeFolder(below);
        closeFolder(into);
      }
    }
  }
}

/**
 * When the fact was never written, the worker goes on: the copy is not needed, and what is read-only can be changed
 * again (what was published before, or was prepared by an older version, which made `scratch/` itself read-only).
 */
export async function undoPublish(dir: string): Promise<void> {
  await inFolder(dir, [], async (node) => {
    await discardCopy(node);
    await removeDiscarded(node);
  });
  for (const { parts, files } of survey(dir).folders) {
    await inFolder(dir, ["scratch", ...parts], async (open) => {
      for (const name of files) if (((glance(open, name)?.mode ?? 0n) & 0o200n) === 0n) makeWritable(open, name);
    });
  }
}

function makeWritable(folder: Folder, name: string): void {
  let file: ReturnType<typeof openFile>;
  try {
    file = openFile(folder, name);
  } catch (error) {
    if (error instanceof WalkError) return; // its owner closed it, or has just removed it: it is as they want it
    throw error;
  }
  try {
    fchmodSync(file.fd, file.executable ? 0o700 : 0o600);
  } finally {
    file.close();
  }
}

/** The files of a recorded publish are neither in `scratch/` nor in `published/` as they were. */
export class PublishLost extends Error {
  override readonly name = "PublishLost";
  constructor(dir: string, files: readonly PublishedFile[]) {
    const names = files.map((file) => file.path).slice(0, 5);
    super(
      `The publish of ${dir} cannot be finished: ${names.join(", ")} ${files.length > 5 ? "and others " : ""}` +
        "are not there as they were recorded, neither in scratch/ nor in published/. Restore them from a backup, or fail the node.",
    );
  }
}

const sync = promisify(fsync);

/** An older version recorded a publish with its files in `scratch/` alone. */
async function copiedAgain(node: Folder, files: readonly PublishedFile[]): Promise<boolean> {
  const tree = new Map<string, { parts: string[]; files: string[] }>([["", { parts: [], files: [] }]]);
  for (const { path } of files) {
    const parts = path.split("/");
    const name = parts.pop() ?? "";
    for (let depth = 1; depth <= parts.length; depth++) {
      const above = parts.slice(0, depth);
      if (!tree.has(above.join("/"))) tree.set(above.join("/"), { parts: above, files: [] });
    }
    tree.get(parts.join("/"))?.files.push(name);
  }
  try {
    const copied = new Map((await copyScratch(node, [...tree.values()])).map((file) => [file.path, file.sha256]));
    return files.length > 0 && files.every(({ path, sha256 }) => copied.get(path) === sha256);
  } catch (error) {
    if (error instanceof Unpublishable) return false;
    throw error;
  }
}

const DISCARDED = `${UNFINISHED}discarded-`;

/** A process that still has the old `scratch/` bound or open goes on writing there, where nobody looks any more. */
async function renewScratch(node: Folder): Promise<void> {
  if (glance(node, "scratch")) {
    let number = 1;
    while (glance(node, `${DISCARDED}${number}`)) number++;
    await moveFolderIn(node, "scratch", `${DISCARDED}${number}`);
  }
  await makeFolderAside(node, "scratch");
}

/** As far as possible: what cannot be removed is tried again with the next publish of the node. */
async function removeDiscarded(node: Folder): Promise<void> {
  const names = childrenOf(node, MOST_NAMES).children.map(({ name }) => name);
  for (const name of names) if (name.startsWith(DISCARDED)) await removeTree(node, name);
}

/** A node's folder holds about ten. */
const MOST_NAMES = 1000;

async function putAside(dir: string, names: readonly string[]): Promise<void> {
  await inFolder(dir, ["scratch"], async (scratch) => {
    const beside = openFolder(dir, ["protocol"], { createFrom: 0 });
    try {
      // Those by which they are known go last, so that a crash in between leaves them known.
      for (const name of names.toReversed()) moveTo(scratch, name, beside);
      await sync(beside.fd);
    } finally {
      closeFolder(beside);
    }
    await sync(scratch.fd);
  });
}

/** Is every file of the manifest here? Sees to it that they are read-only. */
async function holds(
  node: Folder,
  place: typeof COPY_FOLDER | "published",
  files: readonly PublishedFile[],
  verify: boolean,
): Promise<boolean> {
  for (const { path, bytes, sha256 } of files) {
    const parts = path.split("/");
    const name = parts.pop() ?? "";
    try {
      const folder = openFolderBelow(node, place, parts);
      try {
        // Nearly always everything is in one of the two: to look costs less than to fail.
        const stats = glance(folder, name);
        if (!stats) return false;
        const file = openFile(folder, name);
        try {
          // Only where it is needed: a changed time would have the file hashed again.
          if ((stats.mode & 0o222n) !== 0n) fchmodSync(file.fd, file.executable ? 0o500 : 0o400);
          if (file.size !== bytes || (verify && !(await hasContent(file.fd, { sha256, bytes })))) return false;
        } finally {
          file.close();
        }
      } finally {
        closeFolder(folder);
      }
    } catch (error) {
      if (error instanceof WalkError) return false;
      throw error;
    }
  }
  return files.length > 0;
}

/** File browsers leave these in any folder a person opens, and a rename only replaces an empty one. */
function discardLitter(node: Folder): void {
  if (!glance(node, "published")) return;
  const published = openFolderBelow(node, "published", []);
  try {
    if (glance(published, ".DS_Store")) removeIn(published, ".DS_Store");
  } finally {
    closeFolder(published);
  }
}

async function inFolder<T>(dir: string, parts: readonly string[], use: (folder: Folder) => Promise<T>): Promise<T> {
  const folder = openFolder(dir, parts);
  try {
    return await use(folder);
  } finally {
    closeFolder(folder);
  }
}
