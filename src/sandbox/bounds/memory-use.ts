import { readdirSync, readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { firstInside, programInside } from "../first-process.ts";

/**
 * Whether a process and its descendants use more memory than this, including the sandbox's own /tmp and /dev/shm;
 * always false without /proc. Used if no cgroup counts memory.
 *
 * Resident pages are cheap to read but count shared memory once per process; the proportional share is read only if
 * they exceed the limit.
 */
export async function isOverMemory(root: number, limit: number): Promise<boolean> {
  const inFiles = await bytesInMemoryFiles(root);
  const pids = tree(root);
  if (total(pids.map(residentOf), inFiles) <= limit) return false;
  return (
    total(
      pids.map((pid) => fairShareOf(pid) ?? residentOf(pid)),
      inFiles,
    ) > limit
  );
}

interface Resident {
  own: number;
  /** Shared between processes; files in /tmp that are mapped are among it. */
  shared: number;
}

function total(all: readonly Resident[], inFiles: number): number {
  const sum = (bytesOf: (each: Resident) => number) => all.reduce((bytes, each) => bytes + bytesOf(each), 0);
  return (
    sum(({ own }) => own) +
    Math.max(
      sum(({ shared }) => shared),
      inFiles,
    )
  );
}

/** Content and names; a file without content costs the kernel about a kilobyte. */
async function bytesInMemoryFiles(root: number): Promise<number> {
  const first = firstInside(root);
  const program = first && programInside(first);
  if (!program) return 0;
  const sizes = ["/tmp", "/dev/shm"].map(async (folder) => {
    const stats = await statfs(`/proc/${program}/root${folder}`).catch(() => null);
    if (stats?.type !== TMPFS) return 0;
    return (stats.blocks - stats.bfree) * stats.bsize + (stats.files - stats.ffree) * 1024;
  });
  return (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0);
}

const TMPFS = 0x01021994;

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

function residentOf(pid: string): Resident {
  const status = unlessGone(() => readFileSync(`/proc/${pid}/status`, "utf8")) ?? "";
  return { own: kilobytes(status, /^RssAnon:\s+(\d+)/m), shared: kilobytes(status, /^RssShmem:\s+(\d+)/m) };
}

function fairShareOf(pid: string): Resident | undefined {
  const rollup = unlessGone(() => readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"));
  return rollup === undefined
    ? undefined
    : { own: kilobytes(rollup, /^Pss_Anon:\s+(\d+)/m), shared: kilobytes(rollup, /^Pss_Shmem:\s+(\d+)/m) };
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
