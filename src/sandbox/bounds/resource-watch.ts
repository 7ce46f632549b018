import type { Binds } from "../binds/binds.ts";
import type { Cgroup } from "./cgroups.ts";
import { DiskWatch } from "./disk-use.ts";
import type { Bound, Limits } from "./limits.ts";
import { isOverMemory } from "./memory-use.ts";

/**
 * Checks, while a command runs, what per-process limits cannot limit: the memory of all processes together, and the
 * disk. Calls `exceeded` once. The more a check costs, the less often it runs.
 *
 * With a cgroup the kernel limits memory, and we only check whether it had to kill something.
 */
export function watchResources(
  { pid, binds, limits, cgroup }: WatchedProcess,
  exceeded: (what: Bound) => void,
  pace: Pace = { timesItsCost: 20, atLeastMs: 150, atMostMs: Number.POSITIVE_INFINITY },
): ResourceWatch {
  const disk = new DiskWatch(binds, limits);
  let timer: NodeJS.Timeout | undefined;
  let over = false;

  const hasNoMemory = () => (cgroup ? cgroup.ranOutOfMemory() : isOverMemory(pid, limits.memoryBytes));

  const look = async () => {
    const begun = performance.now() - disk.countingMs;
    const what = (await hasNoMemory()) ? "memory" : await disk.isOver();
    if (over) return;
    if (what) return exceeded(what);
    // What another process counted costs us nothing.
    const cost = performance.now() - disk.countingMs - begun;
    const { timesItsCost, atLeastMs, atMostMs } = pace;
    timer = setTimeout(() => void look(), Math.max(atLeastMs, Math.min(timesItsCost * cost, atMostMs))).unref();
  };
  timer = setTimeout(() => void look(), 100).unref();

  return {
    stop() {
      over = true;
      clearTimeout(timer);
    },
  };
}

interface WatchedProcess {
  /** The process of ours that holds the sandbox. */
  pid: number;
  /** What it may write, read and not see. */
  binds: Binds;
  limits: Limits;
  cgroup: Cgroup | null;
}

interface Pace {
  timesItsCost: number;
  atLeastMs: number;
  atMostMs: number;
}

/** For programs that run for hours and are mostly idle: twenty of them take less than one percent of a core. */
export const calmPace: Pace = { timesItsCost: 200, atLeastMs: 1_000, atMostMs: 1_500 };

export interface ResourceWatch {
  stop(): void;
}
