import {
  type BigIntStats,
  closeSync,
  constants,
  type Dirent,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdir,
  mkdirSync,
  open,
  opendirSync,
  openSync,
  rename,
  renameSync,
  unlinkSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TimeSlices } from "./time-slices.ts";

const openFd: (path: string, flags: number, mode: number) => Promise<number> = promisify(open);
const makeDir: (path: string, mode: number) => Promise<unknown> = promisify(mkdir);
const move = promisify(rename);

/**
 * Opening by walking: from a root, one name at a time, each opened relative to the folder before it.
 *
 * WALK-1. Nothing is looked at first and used later: what was opened is what is judged.
 * WALK-2. Below the root no link is followed, neither on the way nor at the end.
 * WALK-3. Every descriptor opened here is closed on every path, but for the one that is returned.
 * WALK-4. Opening never waits: a fifo without a writer is refused like any other special file.
 */
export function openFolder(root: string, parts: readonly string[], options: WalkOptions = {}): Folder {
  return walkOn(openRoot(root), parts, options);
}

/** The same from a folder that is open, and stays so. */
export function openBelow(folder: Folder, name: string, parts: readonly string[]): Folder {
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

export interface Folder {
  readonly fd: number;
  /** Where it was when it was opened. For messages, and for systems without a way to open relative to a descriptor. */
  readonly path: string;
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

export type TroubleKind =
  | "missing"
  | "link"
  | "not_folder"
  | "is_folder"
  | "special"
  | "denied"
  | "bad_name"
  | "in_the_way";

/** Why the walk ended early. No prose for models here: whoever asked knows what they asked for. */
export class WalkTrouble extends Error {
  override readonly name = "WalkTrouble";
  readonly kind: TroubleKind;
  readonly at: string;

  constructor(kind: TroubleKind, at: string, options?: ErrorOptions) {
    super(`${at}: ${kind.replaceAll("_", " ")}`, options);
    this.kind = kind;
    this.at = at;
  }
}

export function closeFolder(folder: Folder): void {
  closeSync(folder.fd);
}

/** A regular file to read. Judged after opening; a folder, fifo, socket or device is refused. */
export function openFile(folder: Folder, name: string, options: Pick<WalkOptions, "anyForm"> = {}): OpenFile {
  return openRegular(folder, options.anyForm ? spelledAs(folder, name) : name, constants.O_RDONLY);
}

/** A regular file that is there, to be written over. The same judgement; nothing is made and nothing is cut. */
export function openFileToWrite(folder: Folder, name: string): OpenFile {
  return openRegular(folder, name, constants.O_WRONLY);
}

function openRegular(folder: Folder, name: string, access: number): OpenFile {
  const { O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
  const fd = openAt(folder, name, access | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  try {
    const stats = fstatSync(fd);
    if (stats.isDirectory()) throw new WalkTrouble("is_folder", join(folder.path, name));
    if (!stats.isFile()) throw new WalkTrouble("special", join(folder.path, name));
    const executable = (stats.mode & 0o100) !== 0;
    return { fd, size: stats.size, linked: stats.nlink > 1, executable, close: () => closeSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * A new file to write, ours alone; refused when the name is taken. It belongs to whom its folder belongs. Made without
 * holding up everybody else: where many files were deleted lately, ext4 takes long to make one.
 */
export async function createFileAside(folder: Folder, name: string, mode: number): Promise<number> {
  const path = childPath(folder, name);
  const fd = await openFd(path, NEW_FILE | NO_LINKS_AT_ALL, mode).catch((error: unknown) => {
    throw troubleOf(error, folder, name);
  });
  return madeOurs(folder, fd, mode);
}

const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

function madeOurs(folder: Folder, fd: number, mode: number): number {
  try {
    // The mode given to open is cut by the umask; what is asked for here is exact.
    fchmodSync(fd, mode);
    giveTo(folder, fd);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Makes a folder unless there is one. What stands in its place is judged when it is entered. */
export function makeFolder(folder: Folder, name: string): void {
  try {
    mkdirSync(childPath(folder, name), 0o700);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    throw troubleOf(error, folder, name);
  }
  giveChildTo(folder, name);
}

/** The same, without holding up everybody else: between syncs a change of a folder may have to wait for the disk. */
export async function makeFolderAside(folder: Folder, name: string): Promise<void> {
  try {
    await makeDir(childPath(folder, name), 0o700);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    throw troubleOf(error, folder, name);
  }
  giveChildTo(folder, name);
}

function giveChildTo(folder: Folder, name: string): void {
  if (!isRoot() || ownerOf(folder).uid === 0) return;
  const made = enterChild(folder, name);
  try {
    giveTo(folder, made.fd);
  } finally {
    closeFolder(made);
  }
}

/** Takes the place of whatever file or link has the new name, in one step. */
export function renameIn(folder: Folder, from: string, to: string): void {
  try {
    renameSync(childPath(folder, from), childPath(folder, to));
  } catch (error) {
    throw troubleOf(error, folder, to);
  }
}

/** The same from one folder to another. */
export function moveTo(from: Folder, name: string, to: Folder): void {
  try {
    renameSync(childPath(from, name), childPath(to, name));
  } catch (error) {
    throw troubleOf(error, from, name);
  }
}

/** The same for a folder, which replaces an empty one; without holding up everybody else. */
export async function moveFolderIn(folder: Folder, from: string, to: string): Promise<void> {
  try {
    await move(childPath(folder, from), childPath(folder, to));
  } catch (error) {
    throw troubleOf(error, folder, to);
  }
}

/** Takes a file of ours away, if it is there. */
export function removeIn(folder: Folder, name: string): void {
  try {
    unlinkSync(childPath(folder, name));
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw troubleOf(error, folder, name);
  }
}

/** At most `limit` of a folder's names, sorted; `more` says that there were others. */
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

/** The same without holding up everybody else, for folders that somebody else fills. Not sorted. */
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

/** What a name stands for right now; a hint for messages and listings, never a permission. */
export function glance(folder: Folder, name: string): BigIntStats | undefined {
  return lstatSync(childPath(folder, name), { bigint: true, throwIfNoEntry: false });
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
    throw troubleOf(error, undefined, path);
  }
}

let hasProc: boolean | undefined;

/** Looked at once: it costs as much as opening, and /proc does not go while a process runs. */
function opensByDescriptor(): boolean {
  hasProc ??= process.platform !== "linux" || lstatSync("/proc/self/fd", { throwIfNoEntry: false }) !== undefined;
  return hasProc;
}

/** A folder in an open one. */
export function enterChild(folder: Folder, name: string): Folder {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  return { fd: openAt(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path: `${folder.path}/${name}` };
}

function openAt(folder: Folder, name: string, flags: number, mode?: number): number {
  try {
    return openSync(childPath(folder, name), flags | NO_LINKS_AT_ALL, mode);
  } catch (error) {
    throw troubleOf(error, folder, name);
  }
}

/** Apple's O_NOFOLLOW_ANY: no link anywhere in the path. Linux needs none, it never has more than one name to resolve. */
const NO_LINKS_AT_ALL = process.platform === "darwin" ? 0x2000_0000 : 0;

/**
 * Node has no `openat`. On Linux a descriptor's entry in /proc leads to the very folder that was opened, wherever it
 * has been moved to since. Elsewhere the path is resolved anew: opening is still safe on macOS by O_NOFOLLOW_ANY, but
 * renaming and making folders there can be raced by another process of the same user.
 */
function childPath(folder: Folder, name: string): string {
  if (name === "" || name === "." || name === ".." || name.includes("/") || name.includes("\0")) {
    throw new WalkTrouble("bad_name", join(folder.path, "?"));
  }
  return `${selfPath(folder)}/${name}`;
}

function selfPath(folder: Folder): string {
  return process.platform === "linux" ? `/proc/self/fd/${folder.fd}` : folder.path;
}

/** The name as this folder spells it, when only its Unicode form differs; else the name itself. */
function spelledAs(folder: Folder, name: string): string {
  if (name.normalize("NFD") === name.normalize("NFC") || glance(folder, name)) return name;
  const same = childrenOf(folder, 10_000).children.find((child) => child.name.normalize() === name.normalize());
  return same?.name ?? name;
}

/** Only root can give files away; it does where the sandbox's user owns the folder, so that both can work in it. */
function giveTo(folder: Folder, fd: number): void {
  if (!isRoot()) return;
  const owner = ownerOf(folder);
  if (owner.uid !== 0) fchownSync(fd, owner.uid, owner.gid);
}

function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

const owners = new WeakMap<Folder, { uid: number; gid: number }>();

/** Looked at once for as long as the folder is open: several things are made in it then. */
function ownerOf(folder: Folder): { uid: number; gid: number } {
  const { uid, gid } = owners.get(folder) ?? fstatSync(folder.fd);
  owners.set(folder, { uid, gid });
  return { uid, gid };
}

function troubleOf(error: unknown, folder: Folder | undefined, name: string): unknown {
  const at = folder ? join(folder.path, name) : name;
  const kind = TROUBLES[codeOf(error) ?? ""];
  if (!kind) return error;
  // A link opened as a folder says "not a folder"; the difference matters only to the reader of the message.
  const isLink = kind === "not_folder" && folder && glance(folder, name)?.isSymbolicLink();
  return new WalkTrouble(isLink ? "link" : kind, at, { cause: error });
}

const TROUBLES: Record<string, TroubleKind> = {
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

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : 1;
}
