import { fchmodSync, fdatasync, fsync } from "node:fs";
import { promisify } from "node:util";
import type { PublishedFile } from "../protocol/index.ts";
import { contentOf, sha256Of } from "./content.ts";
import { ownNames, parsePath } from "./scope-path.ts";
import { ScopeRefusal } from "./scope-refusal.ts";
import {
  childrenOf,
  closeFolder,
  type Folder,
  glance,
  makeFolderAside,
  moveFolderIn,
  moveTo,
  openBelow,
  openFile,
  openFolder,
  removeIn,
  WalkTrouble,
} from "./walk.ts";
import { UNFINISHED, writeWhole } from "./whole-file.ts";

/**
 * Publishing: `scratch/` becomes `published/`.
 *
 * B1. The order is: prepare → the fact `node.published` with the manifest on disk → finish → `node.completed`. Before the
 *     fact nothing has been published; after it recovery finishes.
 * B2. `published/` is all or nothing: everything is checked, synced and read-only before ONE rename puts it there.
 * B3. Every step may be done again, from wherever a crash left it.
 * B4. What was said by files (`PROTOCOL_FILES`) is no part of the work: it is put beside it, into `protocol/`.
 * B5. Only regular files and folders are published, each readable by the path in the manifest. A file with another name
 *     somewhere (a hard link) is copied first, so that nobody can change it from there.
 */
export async function preparePublish(dir: string, deliverables: readonly string[]): Promise<Prepared> {
  const found = survey(dir);
  const reason = reasonAgainst(found, deliverables);
  if (reason) return { ok: false, reason };
  const files: PublishedFile[] = [];
  // Deepest first: a folder is synced when all in it is.
  for (const folder of found.folders.toReversed()) {
    await inFolder(dir, ["scratch", ...folder.parts], async (open) => {
      for (const name of folder.files)
        files.push({ path: [...folder.parts, name].join("/"), ...(await seal(open, name)) });
      await sync(open.fd);
    });
  }
  if (found.protocol.length > 0) await putAside(dir, found.protocol);
  return { ok: true, files: files.sort((a, b) => (a.path < b.path ? -1 : 1)) };
}

/** Why this cannot be published as it is, or undefined. Looks only. */
export function problemPublishing(dir: string, deliverables: readonly string[]): string | undefined {
  return reasonAgainst(survey(dir), deliverables);
}

export type Prepared = { ok: true; files: PublishedFile[] } | { ok: false; reason: string };

/** After the fact is on disk: the one rename. With `verify` every hash is computed again before. */
export async function finishPublish(
  dir: string,
  files: readonly PublishedFile[],
  { verify = false } = {},
): Promise<void> {
  await inFolder(dir, [], async (node) => {
    if (!(await holds(node, "published", files, verify))) {
      if (!(await holds(node, "scratch", files, verify))) throw new PublishLost(dir, files);
      discardLitter(node);
      await moveFolderIn(node, "scratch", "published");
    }
    await makeFolderAside(node, "scratch");
    await sync(node.fd);
  });
}

/** From any state a crash may have left, once the fact `node.published` is there. */
export async function recoverPublish(dir: string, files: readonly PublishedFile[]): Promise<void> {
  await finishPublish(dir, files, { verify: true });
}

/** A part that was published is work again, from wherever a crash left it: back in `scratch/`, where it can be changed. */
export async function reopenPublish(dir: string): Promise<void> {
  await inFolder(dir, [], async (node) => {
    const isThere = await inFolder(dir, ["published"], async (open) => childrenOf(open, 1).children.length > 0);
    if (!isThere) return;
    await moveFolderIn(node, "published", "scratch");
    await makeFolderAside(node, "published");
    await sync(node.fd);
  });
  await undoPublish(dir);
}

/** When the fact was never written, the worker goes on: what was sealed can be changed again. */
export async function undoPublish(dir: string): Promise<void> {
  for (const { parts, files } of survey(dir).folders) {
    await inFolder(dir, ["scratch", ...parts], async (open) => {
      for (const name of files) {
        const file = openFile(open, name);
        try {
          fchmodSync(file.fd, file.executable ? 0o700 : 0o600);
        } finally {
          file.close();
        }
      }
    });
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

/** How a program that knows nothing of us is spoken with, where it works. */
export const PROTOCOL_FILES: readonly string[] = [
  "_task.md",
  "_context.json",
  "_inbox.md",
  "_outbox.md",
  "_result.md",
  "_checkpoint.md",
];

export const MAX_PUBLISHED_FILES = 2000;
const MAX_DEPTH = 32;
const sync = promisify(fsync);
const syncData = promisify(fdatasync);

interface Survey {
  /** Parents before their children. */
  folders: { parts: string[]; files: string[] }[];
  count: number;
  problems: string[];
  /** Those that are there, if this folder is used to speak by files; the names alone may be anybody's. */
  protocol: string[];
}

/** What is in `scratch/`. Looks only; what a crashed write left behind is not counted. */
function survey(dir: string): Survey {
  const found: Survey = { folders: [], count: 0, problems: [], protocol: protocolIn(dir) };
  const queue: string[][] = [[]];
  for (let parts = queue.shift(); parts && found.count <= MAX_PUBLISHED_FILES; parts = queue.shift()) {
    const open = openFolder(dir, ["scratch", ...parts]);
    try {
      const files: string[] = [];
      for (const { name } of childrenOf(open, MAX_PUBLISHED_FILES + 1).children) {
        if (parts.length === 0 && found.protocol.includes(name)) continue;
        const kind = kindOf(open, name);
        const unfinished = kind === "file" && name.startsWith(UNFINISHED);
        if (unfinished) removeIn(open, name);
        else if (kind === "folder" && parts.length < MAX_DEPTH) queue.push([...parts, name]);
        else if (kind === "file") files.push(name);
        if (!unfinished) found.problems.push(...problemsOf([...parts, name], kind));
      }
      found.count += files.length;
      found.folders.push({ parts, files });
    } finally {
      closeFolder(open);
    }
  }
  return found;
}

function protocolIn(dir: string): string[] {
  const scratch = openFolder(dir, ["scratch"]);
  try {
    const there = PROTOCOL_FILES.filter((name) => glance(scratch, name));
    return there.includes("_task.md") && there.includes("_context.json") ? there : [];
  } finally {
    closeFolder(scratch);
  }
}

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

function kindOf(folder: Folder, name: string): "file" | "folder" | "link" | "special" {
  const stats = glance(folder, name);
  if (stats?.isSymbolicLink()) return "link";
  return stats?.isDirectory() ? "folder" : stats?.isFile() ? "file" : "special";
}

function problemsOf(parts: readonly string[], kind: ReturnType<typeof kindOf>): string[] {
  const path = `scratch/${parts.join("/")}`;
  if (kind === "link") return [`${path} is a symbolic link: put a copy of the file in its place, or remove it`];
  if (kind === "special") return [`${path} is not a regular file (a pipe, a socket or a device): remove it`];
  if (kind === "folder" && parts.length > MAX_DEPTH)
    return [`${path} lies deeper than ${MAX_DEPTH} folders: move it up`];
  return isReadableName(path) ? [] : [`${JSON.stringify(path)} has a name others could not read it by: rename it`];
}

/** Would `readFile` take this path as it is? */
function isReadableName(path: string): boolean {
  try {
    return (
      ownNames(parsePath(`nodes/node-000000/${path}`)).join("/") === `nodes/node-000000/${path}` &&
      !path.includes("\uFFFD")
    );
  } catch (error) {
    if (error instanceof ScopeRefusal) return false;
    throw error;
  }
}

function reasonAgainst({ folders, count, problems }: Survey, deliverables: readonly string[]): string | undefined {
  if (count > MAX_PUBLISHED_FILES) {
    return `scratch/ holds more than ${MAX_PUBLISHED_FILES} files. Remove what can be made again (dependencies, build output, caches), or pack it.`;
  }
  if (problems.length > 0) {
    const rest = problems.length > 5 ? `; and ${problems.length - 5} more` : "";
    return `${problems.slice(0, 5).join("; ")}${rest}.`;
  }
  if (count === 0) return "scratch/ is empty. Write your results there first, e.g. scratch/report.md.";
  const there = new Set(folders.flatMap(({ parts, files }) => files.map((name) => [...parts, name].join("/"))));
  const missing = deliverables.filter((wanted) => !isThere(wanted, there));
  if (missing.length === 0) return undefined;
  const has = [...there].sort().slice(0, 10).join(", ");
  return `the spec asks for ${missing.map((path) => `scratch/${inScratch(path)}`).join(", ")}, which ${missing.length > 1 ? "are" : "is"} not there. scratch/ has: ${has}.`;
}

function isThere(wanted: string, files: ReadonlySet<string>): boolean {
  const path = inScratch(wanted);
  return files.has(path) || [...files].some((file) => file.startsWith(`${path}/`));
}

/** People and models name a deliverable by where it will be as readily as by where it is. */
function inScratch(path: string): string {
  return path
    .normalize("NFC")
    .replace(/^(\.\/)+/, "")
    .replace(/^(scratch|published)\//, "")
    .replace(/\/+$/, "");
}

/** Read-only, alone, on disk, and known by its hash. */
async function seal(folder: Folder, name: string): Promise<{ sha256: string; bytes: number }> {
  const first = openFile(folder, name);
  if (first.linked) {
    try {
      await writeWhole(folder, name, contentOf(first.fd), "synced", first.executable ? 0o500 : 0o400);
    } finally {
      first.close();
    }
    return seal(folder, name);
  }
  try {
    fchmodSync(first.fd, first.executable ? 0o500 : 0o400);
    // What makes it read-only is on disk with the rename at the latest: that is synced too, and comes after it.
    await syncData(first.fd);
    return await sha256Of(first.fd);
  } finally {
    first.close();
  }
}

/** Is every file of the manifest here? Sees to it that they are read-only. */
async function holds(
  node: Folder,
  place: "scratch" | "published",
  files: readonly PublishedFile[],
  verify: boolean,
): Promise<boolean> {
  for (const { path, bytes, sha256 } of files) {
    const parts = path.split("/");
    const name = parts.pop() ?? "";
    try {
      const folder = openBelow(node, place, parts);
      try {
        // Nearly always everything is in one of the two: to look costs less than to fail.
        if (!glance(folder, name)) return false;
        const file = openFile(folder, name);
        try {
          fchmodSync(file.fd, file.executable ? 0o500 : 0o400);
          if (file.size !== bytes || (verify && (await sha256Of(file.fd)).sha256 !== sha256)) return false;
        } finally {
          file.close();
        }
      } finally {
        closeFolder(folder);
      }
    } catch (error) {
      if (error instanceof WalkTrouble) return false;
      throw error;
    }
  }
  return files.length > 0;
}

/** File browsers leave these in any folder a person opens, and a rename only replaces an empty one. */
function discardLitter(node: Folder): void {
  if (!glance(node, "published")) return;
  const published = openBelow(node, "published", []);
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
