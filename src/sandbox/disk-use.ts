import { execFile } from "node:child_process";
import { statfs } from "node:fs/promises";
import type { Bound, Limits } from "./sandbox.ts";

/**
 * Looks at what a command leaves in its writable folders.
 *
 * DISK-1. What is free on the disk is cheap to read, and shows when it is time to count what the folders hold, which is
 *         not cheap.
 * DISK-2. Another process counts (`du`): it goes down by open folders, so a path may be of any length, and a tree of any
 *         size does not delay us. It has a time to end by.
 * DISK-3. A folder that is closed to us hides nothing: where not everything could be counted, what disappeared from the
 *         disk since the start counts.
 */
export class DiskWatch {
  readonly #folders: readonly string[];
  readonly #limits: Limits;
  readonly #start: Promise<Free>;
  #counted: Promise<Free>;
  /** How long others have counted for us so far. */
  countingMs = 0;

  constructor(folders: readonly string[], limits: Limits) {
    this.#folders = folders;
    this.#limits = limits;
    this.#start = leastFree(folders);
    this.#counted = this.#start;
  }

  async isOver(): Promise<Extract<Bound, "disk" | "files"> | null> {
    const { diskBytes, files } = this.#limits;
    const free = await leastFree(this.#folders);
    const short = shortOf(free, this.#limits);
    if (short) return short;
    const counted = await this.#counted;
    const since = fallen(counted, free);
    if (since.bytes < diskBytes / 4 && since.files < files / 4) return null;
    this.#counted = Promise.resolve(free);
    const begun = performance.now();
    const held = await holds(this.#folders);
    this.countingMs += performance.now() - begun;
    const lost = fallen(await this.#start, free);
    const bytes = held.isWhole ? held.bytes : Math.max(held.bytes, lost.bytes);
    if (bytes > diskBytes) return "disk";
    return (held.isWhole ? held.files : Math.max(held.files, lost.files)) > files ? "files" : null;
  }
}

/** What these folders' disks lack of what a command must leave free; null when it is there. */
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

interface Held {
  bytes: number;
  files: number;
  /** Whether everything could be counted. */
  isWhole: boolean;
}

async function holds(folders: readonly string[]): Promise<Held> {
  const bytes = await counted(["-sk", "--", ...folders]);
  // Only GNU's counts files.
  const files = process.platform === "linux" ? await counted(["-s", "--inodes", "--", ...folders]) : null;
  return {
    bytes: bytes.sum * 1024,
    files: files?.sum ?? 0,
    isWhole: bytes.isWhole && files?.isWhole !== false,
  };
}

const mostCountingMs = 60_000;

function counted(args: readonly string[]): Promise<{ sum: number; isWhole: boolean }> {
  const limits = {
    timeout: mostCountingMs,
    killSignal: "SIGKILL",
    maxBuffer: 2 ** 20,
    env: { PATH, LC_ALL: "C" },
  } as const;
  return new Promise((resolve) => {
    // It has an end of its own, also when we are killed meanwhile.
    execFile("nice", ["-n", "10", "du", ...args], limits, (error, stdout, complaints) => {
      const sizes = stdout.split("\n").map((line) => Number(/^(\d+)\t/.exec(line)?.[1] ?? 0));
      // That a file disappeared meanwhile is no reason for doubt.
      const isWhole = !error || (!error.killed && stdout !== "" && !complaints.includes("Permission denied"));
      resolve({ sum: sizes.reduce((sum, size) => sum + size, 0), isWhole });
    }).stdin?.end();
  });
}

const PATH = "/usr/bin:/bin:/run/current-system/sw/bin";
