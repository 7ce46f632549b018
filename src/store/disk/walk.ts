import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";
import { join } from "node:path";
import {
  childrenOf,
  closeFolder,
  enterChild,
  type Folder,
  folderErrorOf,
  glance,
  openAt,
  WalkError,
} from "./folder.ts";
import { makeFolder } from "./folder-changes.ts";

/**
 * Opening by walking: from a root, one name at a time, each opened relative to the folder before it.
 *
 * WALK-1. Nothing is checked first and used later: checks are made on what was opened.
 * WALK-2. Below the root no link is followed, neither on the way nor at the end.
 * WALK-3. Every descriptor opened here is closed on every path, except the one that is returned.
 * WALK-4. Opening never blocks: a fifo without a writer is refused like any other special file.
 */
export function openFolder(root: string, parts: readonly string[], options: WalkOptions = {}): Folder {
  return walkOn(openRoot(root), parts, options);
}

/** The same from a folder that is open, and stays so. */
export function openFolderBelow(folder: Folder, name: string, parts: readonly string[]): Folder {
  return walkOn(enterChild(folder, name), parts, {});
}

function walkOn(from: Folder, parts: readonly string[], options: WalkOptions): Folder {
  let folder = from;
  try {
    options.enter?.(fstatSync(folder.fd, { bigint: true }));
    for (const [depth, name] of parts.entries()) {
      if (depth >= (options.createFrom ?? Number.POSITIVE_INFINITY)) makeFolder(folder, name);
      const next = enterChild(folder, options.anyForm ? spelledAs(folder, name) : name);
      closeFolder(folder);
      folder = next;
      options.enter?.(fstatSync(folder.fd, { bigint: true }));
    }
    return folder;
  } catch (error) {
    closeFolder(folder);
    throw error;
  }
}

export interface WalkOptions {
  /** Parts from this one on are made when they are missing. */
  createFrom?: number;
  /** Sees each folder once it is open, the root included; throws to stop there. */
  enter?: (stats: BigIntStats) => void;
  /** The user's own folder may hold names in either Unicode form; ours are always composed (NFC). */
  anyForm?: boolean;
}

export interface OpenFile {
  readonly fd: number;
  readonly size: number;
  /** It has another name somewhere, perhaps outside. */
  readonly linked: boolean;
  /** It may be run. */
  readonly executable: boolean;
  close(): void;
}

/** Opens a regular file for reading. Checked after opening: a folder, fifo, socket or device is refused. */
export function openFile(folder: Folder, name: string, options: Pick<WalkOptions, "anyForm"> = {}): OpenFile {
  return openRegular(folder, options.anyForm ? spelledAs(folder, name) : name, constants.O_RDONLY);
}

/** Opens an existing regular file for overwriting, with the same check; it is neither created nor truncated. */
export function openFileToWrite(folder: Folder, name: string): OpenFile {
  return openRegular(folder, name, constants.O_WRONLY);
}

function openRegular(folder: Folder, name: string, access: number): OpenFile {
  const { O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
  const fd = openAt(folder, name, access | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  try {
    const stats = fstatSync(fd);
    if (stats.isDirectory()) throw new WalkError("is_folder", join(folder.path, name));
    if (!stats.isFile()) throw new WalkError("special", join(folder.path, name));
    const executable = (stats.mode & 0o100) !== 0;
    return { fd, size: stats.size, linked: stats.nlink > 1, executable, close: () => closeSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function openRoot(path: string): Folder {
  if (!opensByDescriptor()) {
    throw new Error(
      "Agiraph opens files through /proc/self/fd, and /proc is not mounted here. Mount it and start again.",
    );
  }
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  try {
    return { fd: openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path };
  } catch (error) {
    throw folderErrorOf(error, undefined, path);
  }
}

let hasProc: boolean | undefined;

/** Looked at once: it costs as much as opening, and /proc does not go while a process runs. */
function opensByDescriptor(): boolean {
  hasProc ??= process.platform !== "linux" || lstatSync("/proc/self/fd", { throwIfNoEntry: false }) !== undefined;
  return hasProc;
}

/** The name as this folder spells it, when only its Unicode form differs; else the name itself. */
function spelledAs(folder: Folder, name: string): string {
  if (name.normalize("NFD") === name.normalize("NFC") || glance(folder, name)) return name;
  const same = childrenOf(folder, 10_000).children.find((child) => child.name.normalize() === name.normalize());
  return same?.name ?? name;
}
