import { readdirSync, readFileSync } from "node:fs";
import { lstat, readdir, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Limits } from "./sandbox.ts";

/**
 * Looks, while a command runs, at what no limit of one process can bound: the memory of all of them together, and the
 * disk. Calls `exceeded` once. Looks less often the more a look costs.
 */
export function watchResources(
  pid: number,
  folders: readonly string[],
  limits: Limits,
  exceeded: (what: "memory" | "disk") => void,
  pace: Pace = { timesItsCost: 20, atMostMs: Number.POSITIVE_INFINITY },
): Watch {
  const disk = new DiskWatch(folders, limits);
  let timer: NodeJS.Timeout | undefined;
  let over = false;

  const look = async () => {
    const begun = performance.now();
    const what = isOverMemory(pid, limits.memoryBytes) ? "memory" : (await disk.isOver()) ? "disk" : null;
    if (over) return;
    if (what) return exceeded(what);
    const cost = performance.now() - begun;
    timer = setTimeout(() => void look(), Math.max(150, Math.min(pace.timesItsCost * cost, pace.atMostMs))).unref();
  };
  timer = setTimeout(() => void look(), 100).unref();

  return {
    stop() {
      over = true;
      clearTimeout(timer);
    },
  };
}

interface Pace {
  timesItsCost: number;
  atMostMs: number;
}

/** For what lives for hours and is mostly silent: the looks take half of a hundredth of a core. */
export const calmPace: Pace = { timesItsCost: 200, atMostMs: 1_500 };

export interface Watch {
  stop(): void;
}

/** Whether the disks of these folders have the room a command must leave free. */
export async function hasRoom(folders: readonly string[], limits: Limits): Promise<boolean> {
  return (await leastFree(folders)) >= limits.freeDiskBytes;
}

class DiskWatch {
  readonly #folders: readonly string[];
  readonly #limits: Limits;
  #freeWhenMeasured: Promise<number>;

  constructor(folders: readonly string[], limits: Limits) {
    this.#folders = folders;
    this.#limits = limits;
    this.#freeWhenMeasured = leastFree(folders);
  }

  /** Free space is cheap to read, and shows when it is time to count what the folders hold, which is not. */
  async isOver(): Promise<boolean> {
    const free = await leastFree(this.#folders);
    if (free < this.#limits.freeDiskBytes) return true;
    if ((await this.#freeWhenMeasured) - free < this.#limits.diskBytes / 4) return false;
    this.#freeWhenMeasured = Promise.resolve(free);
    return (await bytesIn(this.#folders)) > this.#limits.diskBytes;
  }
}

async function leastFree(folders: readonly string[]): Promise<number> {
  const free = await Promise.all(
    folders.map((folder) =>
      statfs(folder).then(
        ({ bavail, bsize }) => bavail * bsize,
        () => Number.POSITIVE_INFINITY,
      ),
    ),
  );
  return Math.min(Number.POSITIVE_INFINITY, ...free);
}

async function bytesIn(paths: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const path of paths) {
    const stat = await lstat(path).catch(() => undefined);
    bytes += (stat?.blocks ?? 0) * 512;
    if (!stat?.isDirectory()) continue;
    const names = await readdir(path).catch(() => []);
    bytes += await bytesIn(names.map((name) => join(path, name)));
  }
  return bytes;
}

/**
 * Memory of a process and its descendants; 0 where there is no /proc. Resident pages are cheap to read but count what
 * processes share once for each; only when they are too many is it worth asking for the fair share.
 */
function isOverMemory(root: number, limit: number): boolean {
  const pids = tree(root);
  if (sum(pids, residentOf) <= limit) return false;
  return sum(pids, (pid) => fairShareOf(pid) ?? residentOf(pid)) > limit;
}

function tree(root: number): string[] {
  const found: string[] = [];
  const pids = [String(root)];
  for (let pid = pids.pop(); pid !== undefined; pid = pids.pop()) {
    found.push(pid);
    for (const thread of unlessGone(() => readdirSync(`/proc/${pid}/task`)) ?? []) {
      const children = unlessGone(() => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8")) ?? "";
      pids.push(...children.split(" ").filter(Boolean));
    }
  }
  return found;
}

const sum = (pids: readonly string[], bytesOf: (pid: string) => number) =>
  pids.reduce((bytes, pid) => bytes + bytesOf(pid), 0);

function residentOf(pid: string): number {
  const status = unlessGone(() => readFileSync(`/proc/${pid}/status`, "utf8")) ?? "";
  return kilobytes(status, /^RssAnon:\s+(\d+)/m) + kilobytes(status, /^RssShmem:\s+(\d+)/m);
}

function fairShareOf(pid: string): number | undefined {
  const rollup = unlessGone(() => readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"));
  return rollup === undefined
    ? undefined
    : kilobytes(rollup, /^Pss_Anon:\s+(\d+)/m) + kilobytes(rollup, /^Pss_Shmem:\s+(\d+)/m);
}

const kilobytes = (text: string, line: RegExp) => Number(line.exec(text)?.[1] ?? 0) * 1024;

/** A process may end while we look at it, or not be ours to look into. */
function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
