import { type BigIntStats, closeSync, constants, type Dirent, lstatSync, opendirSync, openSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "./disk.ts";
import type { TimeSlices } from "./time-slices.ts";

/** An open folder: its entries are opened relative to it. */
export interface Folder {
  readonly fd: number;
  /** Where it was when it was opened. For messages, and for systems without a way to open relative to a descriptor. */
  readonly path: string;
}

export function closeFolder(folder: Folder): void {
  closeSync(folder.fd);
}

/** A folder in an open one. */
export function enterChild(folder: Folder, name: string): Folder {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  return { fd: openAt(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path: `${folder.path}/${name}` };
}

export function openAt(folder: Folder, name: string, flags: number): number {
  try {
    return openSync(childPath(folder, name), flags | NO_LINKS_AT_ALL);
  } catch (error) {
    throw folderErrorOf(error, folder, name);
  }
}

/** Apple's O_NOFOLLOW_ANY: no link anywhere in the path. Not needed on Linux, which never has more than one name to resolve here. */
export const NO_LINKS_AT_ALL = process.platform === "darwin" ? 0x2000_0000 : 0;

/**
 * Node has no `openat`. On Linux a descriptor's entry in /proc leads to the very folder that was opened, wherever it
 * has been moved to since. Elsewhere the path is resolved again: opening is still safe on macOS by O_NOFOLLOW_ANY, but
 * renaming and making folders there can be raced by another process of the same user.
 */
export function childPath(folder: Folder, name: string): string {
  if (name === "" || name === "." || name === ".." || name.includes("/") || name.includes("\0")) {
    throw new WalkError("bad_name", join(folder.path, "?"));
  }
  return `${selfPath(folder)}/${name}`;
}

function selfPath(folder: Folder): string {
  return process.platform === "linux" ? `/proc/self/fd/${folder.fd}` : folder.path;
}

/** What a name is right now; a hint for messages and listings, never a permission. */
export function glance(folder: Folder, name: string): BigIntStats | undefined {
  return lstatSync(childPath(folder, name), { bigint: true, throwIfNoEntry: false });
}

/** At most `limit` of a folder's names, sorted; `more` means that there were others. */
export function childrenOf(folder: Folder, limit: number): { children: Dirent[]; more: boolean } {
  const children: Dirent[] = [];
  const listing = opendirSync(selfPath(folder));
  try {
    for (let child = listing.readSync(); child; child = listing.readSync()) {
      if (children.length === limit) return { children: children.sort(byName), more: true };
      children.push(child);
    }
  } finally {
    listing.closeSync();
  }
  return { children: children.sort(byName), more: false };
}

/** The same without blocking the process, for folders that other programs fill. Not sorted. */
export async function namesOf(folder: Folder, limit: number, slices: TimeSlices): Promise<Names> {
  const names: string[] = [];
  const listing = opendirSync(selfPath(folder), { bufferSize: 256 });
  try {
    for (let child = listing.readSync(); child; child = listing.readSync()) {
      if (names.length === limit) return { names, more: true };
      names.push(child.name);
      if (slices.isDue) await slices.rest();
    }
  } finally {
    listing.closeSync();
  }
  return { names, more: false };
}

export interface Names {
  names: string[];
  /** There were more than the limit. */
  more: boolean;
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : 1;
}

export type WalkErrorKind =
  | "missing"
  | "link"
  | "not_folder"
  | "is_folder"
  | "special"
  | "denied"
  | "bad_name"
  | "in_the_way";

/** Why the walk ended early. Without text for models: the caller knows what was asked for. */
export class WalkError extends Error {
  override readonly name = "WalkError";
  readonly kind: WalkErrorKind;
  readonly at: string;

  constructor(kind: WalkErrorKind, at: string, options?: ErrorOptions) {
    super(`${at}: ${kind.replaceAll("_", " ")}`, options);
    this.kind = kind;
    this.at = at;
  }
}

export function folderErrorOf(error: unknown, folder: Folder | undefined, name: string): unknown {
  const at = folder ? join(folder.path, name) : name;
  const kind = KINDS[codeOf(error) ?? ""];
  if (!kind) return error;
  // A link opened as a folder says "not a folder"; the difference matters only to the reader of the message.
  const isLink = kind === "not_folder" && folder && glance(folder, name)?.isSymbolicLink();
  return new WalkError(isLink ? "link" : kind, at, { cause: error });
}

const KINDS: Record<string, WalkErrorKind> = {
  ENOENT: "missing",
  ELOOP: "link",
  ENOTDIR: "not_folder",
  EISDIR: "in_the_way",
  ENOTEMPTY: "in_the_way",
  EEXIST: "in_the_way",
  ENXIO: "special",
  EOPNOTSUPP: "special",
  ENODEV: "special",
  EACCES: "denied",
  EPERM: "denied",
  EROFS: "denied",
  ENAMETOOLONG: "bad_name",
  EILSEQ: "bad_name",
  EINVAL: "bad_name",
};
