import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  mkdir,
  mkdirSync,
  open,
  rename,
  renameSync,
  unlinkSync,
} from "node:fs";
import { promisify } from "node:util";
import { codeOf } from "./disk.ts";
import { childPath, closeFolder, enterChild, type Folder, folderErrorOf, NO_LINKS_AT_ALL } from "./folder.ts";

const openFd: (path: string, flags: number, mode: number) => Promise<number> = promisify(open);
const makeDir: (path: string, mode: number) => Promise<unknown> = promisify(mkdir);
const move = promisify(rename);

/**
 * Creates a new file with the owner of its folder; refused if the name is taken. Does not block the process: if many
 * files were deleted recently, ext4 takes long to create one.
 */
export async function createFileAside(folder: Folder, name: string, mode: number): Promise<number> {
  const path = childPath(folder, name);
  const fd = await openFd(path, NEW_FILE | NO_LINKS_AT_ALL, mode).catch((error: unknown) => {
    throw folderErrorOf(error, folder, name);
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

/** Creates a folder unless it exists. Anything else of that name is noticed when it is entered. */
export function makeFolder(folder: Folder, name: string): void {
  try {
    mkdirSync(childPath(folder, name), 0o700);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    throw folderErrorOf(error, folder, name);
  }
  giveChildTo(folder, name);
}

/** The same, without blocking the process: between syncs a change of a folder may have to wait for the disk. */
export async function makeFolderAside(folder: Folder, name: string): Promise<void> {
  try {
    await makeDir(childPath(folder, name), 0o700);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    throw folderErrorOf(error, folder, name);
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

/** Replaces any file or link of the new name, atomically. */
export function renameIn(folder: Folder, from: string, to: string): void {
  try {
    renameSync(childPath(folder, from), childPath(folder, to));
  } catch (error) {
    throw folderErrorOf(error, folder, to);
  }
}

/** The same from one folder to another. */
export function moveTo(from: Folder, name: string, to: Folder, newName = name): void {
  try {
    renameSync(childPath(from, name), childPath(to, newName));
  } catch (error) {
    throw folderErrorOf(error, from, name);
  }
}

/** The same for a folder, which replaces an empty one; without blocking the process. */
export async function moveFolderIn(folder: Folder, from: string, to: string): Promise<void> {
  try {
    await move(childPath(folder, from), childPath(folder, to));
  } catch (error) {
    throw folderErrorOf(error, folder, to);
  }
}

/** Removes a file of ours, if it exists. */
export function removeIn(folder: Folder, name: string): void {
  try {
    unlinkSync(childPath(folder, name));
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw folderErrorOf(error, folder, name);
  }
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
