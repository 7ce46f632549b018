import { dirname } from "node:path";
import { z } from "zod";
import { replaceFile, writeFileAtomic } from "../disk/atomic-file.ts";
import { codeOf, type Disk, type FileLock, readWhole } from "../disk/disk.ts";
import { HomeLockedError, HomeNotMadeError, NewerVersionError, NotFoundError, StoreUsageError } from "../errors.ts";
import { agentsDir, holderFile, journalDir, lockFile, versionFile } from "../paths.ts";
import { isRunning, processStamp } from "./process-stamp.ts";

/**
 * The home folder: who holds it, and its format version.
 *
 * HOME-1. One writer: the lock is released when its holder ends, so a crash never leaves a home locked. Deleting
 *     `home.lock` does not let a second writer in: it finds the first one running, and the first one takes the new
 *     file's lock with its next write.
 * HOME-2. VERSION is written last, when the folders are on disk: if it exists, the home is complete. It is never
 *     rewritten.
 */
const HOME_VERSION = 1;

/** Who has the home open for writing; kept beside the lock for the second process and for the CLI. */
const holderSchema = z.object({
  pid: z.int(),
  started_ts: z.number(),
  epoch: z.int(),
  /** Where it is reached by other processes on this machine: the API. */
  url: z.string().optional(),
  /** A server: it stays, works on all agents of the home, and has the page. Others end when their agents rest. */
  serves: z.boolean().optional(),
  /** The home is its working copy of an engine: that server knows all agents, and brings those of other hosts. */
  engine: z.boolean().optional(),
  /** What it does there, as a person would call it: `agiraph run`. */
  command: z.string().optional(),
  /** The file with the certificate that it shows there. */
  cert: z.string().optional(),
  /** By which it is told from a later process with the same number (`processStamp`). */
  process: z.string().optional(),
  /** It closed the home. Without this it has it open still, or died. */
  ended_ts: z.number().optional(),
});
export type HomeHolder = z.infer<typeof holderSchema>;

/** The address of a holder's API. */
export type HolderAddress = Partial<Pick<HomeHolder, "url" | "serves" | "engine" | "cert" | "command">>;

export interface HomeLock {
  readonly holder: HomeHolder;
  /** False when another process has the home now: `home.lock` was deleted, and it made a new one. */
  renew(): boolean;
  announce(address: HolderAddress): void;
  release(now: number): void;
}

export async function prepareHome(disk: Disk, root: string): Promise<void> {
  if (checkVersion(disk, root)) return;
  for (const dir of [agentsDir(root), journalDir(root)]) disk.makeDir(dir);
  await disk.syncDir(root);
  await syncParent(disk, root);
  await writeFileAtomic(versionFile(root), `${HOME_VERSION}\n`, disk);
}

/** For reading without the lock: the home must exist. */
export function requireHome(disk: Disk, root: string): void {
  if (!checkVersion(disk, root))
    throw new NotFoundError(`There is no Agiraph home at ${root}. Run an agent first, or pass --home.`);
}

/** Creates the home's folder if necessary and takes its lock (HOME-1). */
export function lockHome(disk: Disk, root: string, now: number): HomeLock {
  makeRoot(disk, root);
  const lock = lockOf(disk, root);
  const before = readHolder(disk, root);
  const isHeld = before !== undefined && before.ended_ts === undefined && isRunning(before);
  if (lock === undefined) throw new HomeLockedError(root, before?.pid, isHeld ? "held" : "perhaps no locks");
  const release = () => lock.release();
  // Its lock is on a file that is gone: `home.lock` was deleted while it was held.
  if (isHeld && before.pid !== process.pid) {
    release();
    throw new HomeLockedError(root, before.pid, "held");
  }
  const stamp = processStamp();
  const epoch = (before?.epoch ?? 0) + 1;
  const self = { pid: process.pid, started_ts: now / 1000, epoch, ...(stamp !== undefined && { process: stamp }) };
  let holder: HomeHolder = self;
  const save = () => replaceFile(holderFile(root), `${JSON.stringify(holder)}\n`, disk);
  try {
    save();
  } catch (error) {
    release();
    throw error;
  }
  return {
    get holder() {
      return holder;
    },
    renew() {
      const state = lock.renew();
      if (state === "held") return true;
      const current = readHolder(disk, root);
      if (current === undefined && state === "replaced") save();
      // Another process that had the home since may have closed it again: what we know of its files is out of date.
      // One that is about to be refused has the new file's lock for a moment; home.lock.json names us then.
      return current === undefined ? state === "replaced" : isSameHolder(current, self);
    },
    announce(address) {
      holder = { ...holder, ...address };
      save();
    },
    release(when) {
      holder = { ...self, ended_ts: when / 1000 };
      try {
        if (isSameHolder(readHolder(disk, root), self)) save();
      } catch {
        // It is a courtesy to the next process; the lock is what counts.
      }
      release();
    },
  };
}

/** By the epoch as well: on some systems nothing tells two processes with the same number apart. */
function isSameHolder(now: HomeHolder | undefined, self: HomeHolder): boolean {
  return now?.pid === self.pid && now.epoch === self.epoch && now.started_ts === self.started_ts;
}

function lockOf(disk: Disk, root: string): FileLock | undefined {
  try {
    return disk.lock(lockFile(root));
  } catch (error) {
    // SQLite's own errors; those of the file system say what they are.
    if (codeOf(error) !== "ERR_SQLITE_ERROR") throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreUsageError(
      `${lockFile(root)} cannot be locked (${reason}). Some network mounts have no file locks: put the home on a local disk (--home or AGIRAPH_HOME).`,
      { cause: error },
    );
  }
}

/** The process that has, or last had, the home open. Only the lock tells whether it still runs. */
export function readHolder(disk: Disk, root: string): HomeHolder | undefined {
  const text = readWhole(disk, holderFile(root))?.toString();
  try {
    return text === undefined ? undefined : holderSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function checkVersion(disk: Disk, root: string): boolean {
  const found = readWhole(disk, versionFile(root))?.toString().trim();
  if (found === undefined) return false;
  if (!/^\d+$/.test(found)) {
    throw new StoreUsageError(
      `${versionFile(root)} should contain a number but contains "${found.slice(0, 40)}". Put ${HOME_VERSION} there if this is an Agiraph home.`,
    );
  }
  if (found !== String(HOME_VERSION)) throw new NewerVersionError(`The home ${root}`, found, HOME_VERSION);
  return true;
}

function makeRoot(disk: Disk, root: string): void {
  try {
    makeFolders(disk, root);
  } catch (error) {
    const code = codeOf(error);
    throw code !== undefined && UNMAKEABLE.includes(code) ? new HomeNotMadeError(root, code, error) : error;
  }
}

/** Another folder may do; a full disk is told as such. */
const UNMAKEABLE = ["EACCES", "ELOOP", "ENAMETOOLONG", "ENOENT", "ENOTDIR", "EPERM", "EROFS"];

function makeFolders(disk: Disk, folder: string): void {
  if (disk.size(folder) !== undefined) return;
  makeFolders(disk, dirname(folder));
  disk.makeDir(folder);
}

/** The folder above may belong to another user; then syncing it is up to them. */
async function syncParent(disk: Disk, root: string): Promise<void> {
  try {
    await disk.syncDir(dirname(root));
  } catch (error) {
    if (!["EACCES", "EPERM", "EINVAL", "EROFS"].includes(codeOf(error) ?? "")) throw error;
  }
}
