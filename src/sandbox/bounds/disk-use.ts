import { execFile } from "node:child_process";
import { statfs } from "node:fs/promises";
import { type Binds, isBelow } from "../binds/binds.ts";
import { SandboxFailure } from "../sandbox-failure.ts";
import type { Bound, Limits } from "./limits.ts";
import { smallTree } from "./small-tree.ts";

/**
 * Measures what a command leaves in its writable folders.
 *
 * DISK-1. Free disk space is cheap to read, and shows when it is time to count the contents of the folders, which is
 *     not cheap.
 * DISK-2. Another process counts (`du`): it descends through open folders, so a path may have any length, and a tree of
 *     any size does not delay us. It has a time limit. Only what is small is counted here (`small-tree.ts`).
 * DISK-3. A folder that we cannot read hides nothing: if not everything could be counted, or nothing at all, the free
 *     space lost since the last count is added.
 * DISK-4. The last count is kept from one command to the next, so that many small commands are limited like one. Space
 *     that others free meanwhile can hide what was written, but only for a few commands.
 * DISK-5. A worker is not charged for folders inside its own that it may only read, or not see: a coordinator writes to
 *     the folder of its run, which contains its workers' folders.
 * DISK-6. A long command is counted after 8, 16, 32 ... checks whatever the disk shows: space that others free hides
 *     nothing for longer than the command has already run.
 */
export class DiskWatch {
  readonly #binds: Counted;
  readonly #limits: Limits;
  readonly #before: Count | undefined;
  readonly #start: Promise<Count>;
  #looks = 0;
  /** How long others have counted for us so far. */
  countingMs = 0;

  constructor(binds: Counted, limits: Limits) {
    this.#binds = binds;
    this.#limits = limits;
    this.#before = counts.get(keyOf(binds));
    this.#start = leastFree(binds.write).then((free) => ({ bytes: 0, files: 0, free, commands: 0, ms: 0 }));
  }

  async isOver(): Promise<DiskBound | null> {
    const free = await leastFree(this.#binds.write);
    const short = shortOf(free, this.#limits);
    if (short) return short;
    const last = counts.get(keyOf(this.#binds)) ?? (await this.#start);
    this.#looks++;
    if (!hasFallen(last.free, free, this.#limits) && !isTimeToCount(this.#looks)) return null;
    const count = await recount(this.#binds, free, last);
    this.countingMs += count.ms;
    return this.#hasGrown(count) ? beyond(count, this.#limits) : null;
  }

  /** What was too much before is not the fault of a command that removes some of it. */
  #hasGrown(count: Count): boolean {
    const before = this.#before;
    return !before || !beyond(before, this.#limits) || count.bytes > before.bytes || count.files > before.files;
  }
}

/** The gaps double, so that a program that runs for days is counted a few times only. */
function isTimeToCount(looks: number): boolean {
  return looks >= 8 && (looks & (looks - 1)) === 0;
}

/** What a command may write; what it may not, inside of that, is not counted. */
type Counted = Pick<Binds, "write"> & Partial<Pick<Binds, "read" | "hide">>;

type DiskBound = Extract<Bound, "disk" | "files">;

/** Whether folders exceed their limit, before or after a command; counted only if there is reason to. */
export async function overBound(
  binds: Counted,
  limits: Limits,
  { at, signal }: { at: "start" | "end"; signal: AbortSignal },
): Promise<DiskBound | null> {
  const free = await leastFree(binds.write);
  const last = counts.get(keyOf(binds));
  if (last && at === "start") last.commands++;
  const isFresh =
    last && last.commands < Math.max(8, last.ms / 500) && !beyond(last, limits) && !hasFallen(last.free, free, limits);
  return beyond(isFresh ? last : await recount(binds, free, last, signal), limits);
}

/** For a command in folders that exceed their limit: it can remove files, but not write any. */
export async function limitsNow(binds: Counted, limits: Limits, signal: AbortSignal): Promise<Limits> {
  return (await overBound(binds, limits, { at: "start", signal })) ? { ...limits, fileBytes: 0 } : limits;
}

/** A program would fail in odd ways if it cannot write, so it does not start. Always counted, since starts are rare. */
export async function mustNotBeFull(
  { binds, signal }: { binds: Counted; signal: AbortSignal },
  limits: Limits,
): Promise<void> {
  counts.delete(keyOf(binds));
  const over = await overBound(binds, limits, { at: "start", signal });
  signal.throwIfAborted();
  if (!over) return;
  const most = over === "disk" ? `${limits.diskBytes} bytes` : `${limits.files} files`;
  throw new SandboxFailure(
    `The program was not started, because the folders it writes to hold more than ${most}. Remove some: ${binds.write.join(", ")}`,
  );
}

/** What folders held when they were last counted. */
interface Count {
  bytes: number;
  files: number;
  /** On their disk, then. */
  free: Free;
  /** Begun since. */
  commands: number;
  /** How long it took. */
  ms: number;
}

const counts = new Map<string, Count>();
const mostCounts = 10_000;
const keyOf = ({ write }: Counted) => write.join("\0");

async function recount(binds: Counted, free: Free, last: Count | undefined, signal?: AbortSignal): Promise<Count> {
  const begun = performance.now();
  const { isWhole, ...content } = await contentOf(binds, signal);
  const lost = last ? fallen(last.free, free) : { bytes: 0, files: 0 };
  const atLeast = (what: "bytes" | "files") =>
    isWhole ? content[what] : Math.max(content[what], (last?.[what] ?? 0) + lost[what]);
  const count = { bytes: atLeast("bytes"), files: atLeast("files"), free, commands: 0, ms: performance.now() - begun };
  if (signal?.aborted) return count;
  if (counts.size >= mostCounts) counts.clear();
  counts.set(keyOf(binds), count);
  return count;
}

function beyond({ bytes, files }: Count, limits: Limits): DiskBound | null {
  if (bytes > limits.diskBytes) return "disk";
  return files > limits.files ? "files" : null;
}

function hasFallen(before: Free, now: Free, { diskBytes, files }: Limits): boolean {
  const since = fallen(before, now);
  return since.bytes >= diskBytes / 4 || since.files >= files / 4;
}

/** How much the disks of these folders lack of the space that a command must leave free; null if there is enough. */
export async function lacksRoom(folders: readonly string[], limits: Limits): Promise<"disk" | "files" | null> {
  return shortOf(await leastFree(folders), limits);
}

function shortOf(free: Free, { freeDiskBytes, freeFiles }: Limits): "disk" | "files" | null {
  if (free.bytes < freeDiskBytes) return "disk";
  return free.files < Math.min(freeFiles, free.allFiles / 20) ? "files" : null;
}

interface Free {
  bytes: number;
  /** Infinite on file systems that do not count them. */
  files: number;
  allFiles: number;
}

const fallen = (before: Free, now: Free) => ({
  bytes: Number.isFinite(now.bytes) ? before.bytes - now.bytes : 0,
  files: Number.isFinite(now.files) ? before.files - now.files : 0,
});

async function leastFree(folders: readonly string[]): Promise<Free> {
  let least: Free = { bytes: Number.POSITIVE_INFINITY, files: Number.POSITIVE_INFINITY, allFiles: 0 };
  for (const folder of folders) {
    const stats = await statfs(folder).catch(() => null);
    if (!stats) continue;
    least = { ...least, bytes: Math.min(least.bytes, stats.bavail * stats.bsize) };
    if (stats.files > 0 && stats.ffree < least.files) least = { ...least, files: stats.ffree, allFiles: stats.files };
  }
  return least;
}

interface Content {
  bytes: number;
  files: number;
  /** Whether everything could be counted. */
  isWhole: boolean;
}

async function contentOf({ write, read = [], hide = [] }: Counted, signal?: AbortSignal): Promise<Content> {
  // Without a path, `du` counts the folder that we work in.
  if (write.length === 0) return { bytes: 0, files: 0, isWhole: true };
  const isLinux = process.platform === "linux";
  const ofOthers = [...read, ...hide].filter((path) => write.some((folder) => isBelow(path, folder)));
  const small = isLinux ? smallTree(write, ofOthers) : undefined;
  if (small) return { ...small, isWhole: true };
  // Only GNU's leaves folders out by their paths, and counts files.
  const without = isLinux ? ofOthers.map((path) => `--exclude=${path.replace(/[[\]*?\\]/g, "\\$&")}`) : [];
  const [bytes, files] = await Promise.all([
    counted(["-sk", ...without, "--", ...write], signal),
    isLinux ? counted(["-s", "--inodes", ...without, "--", ...write], signal) : null,
  ]);
  return {
    bytes: bytes.sum * 1024,
    files: files?.sum ?? 0,
    isWhole: bytes.isWhole && files?.isWhole !== false,
  };
}

const mostCountingMs = 60_000;

function counted(args: readonly string[], signal?: AbortSignal): Promise<{ sum: number; isWhole: boolean }> {
  const limits = {
    timeout: mostCountingMs,
    killSignal: "SIGKILL",
    maxBuffer: 2 ** 20,
    env: { PATH, LC_ALL: "C" },
    ...(signal ? { signal } : {}),
  } as const;
  return new Promise<{ sum: number; isWhole: boolean }>((resolve) => {
    // It ends by itself, even when we are killed meanwhile.
    execFile("nice", ["-n", "10", "du", ...args], limits, (error, stdout, complaints) => {
      const sizes = stdout.split("\n").map((line) => Number(/^(\d+)\t/.exec(line)?.[1] ?? 0));
      // A file that disappeared meanwhile does not make the count incomplete.
      const isWhole = !error || (!error.killed && stdout !== "" && !complaints.includes("Permission denied"));
      resolve({ sum: sizes.reduce((sum, size) => sum + size, 0), isWhole });
    }).stdin?.end();
    // It cannot even be started: too many folders for one command, or no memory.
  }).catch(() => ({ sum: 0, isWhole: false }));
}

const PATH = "/usr/bin:/bin:/run/current-system/sw/bin";
