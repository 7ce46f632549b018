import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { z } from "zod";
import { isRunning, processStamp } from "../../store/home/process-stamp.ts";
import { nodeDisk, replaceFile } from "../../store/index.ts";
import type { Layout } from "./layout.ts";

const holderSchema = z.object({ pid: z.int(), home: z.string().optional(), process: z.string().optional() });
export type Holder = z.infer<typeof holderSchema>;

/**
 * One process at a time moves a project's messages.
 *
 * MESH-LOCK-1. `.ai/tx/lock` is released when its holder ends, so a crash never leaves a project locked. `lock.json`
 *     beside it says who holds it, for people and for a second process.
 */
export function lockProject(layout: Layout, home?: string): () => void {
  mkdirSync(layout.running, { recursive: true });
  const lock = nodeDisk.lock(layout.lock);
  const before = readLockHolder(layout);
  if (lock === undefined) throw new ProjectLockedError(layout.project, before);
  const release = () => {
    try {
      rmSync(layout.holder, { force: true });
    } catch {
      // As below: the next process finds that the one named there is gone.
    } finally {
      lock.release();
    }
  };
  // The holder's lock is on a file that is gone: somebody deleted it.
  if (before && before.pid !== process.pid && isRunning(before)) {
    lock.release();
    throw new ProjectLockedError(layout.project, before);
  }
  try {
    replaceFile(
      layout.holder,
      `${JSON.stringify({ pid: process.pid, home, process: processStamp() } satisfies Record<keyof Holder, unknown>)}\n`,
    );
  } catch {
    // The file is only for information; the lock is what counts.
  }
  return release;
}

/** The process that moves, or last moved, the messages here. Only the lock tells whether it still runs. */
export function readLockHolder(layout: Layout): Holder | undefined {
  try {
    return holderSchema.safeParse(JSON.parse(readFileSync(layout.holder, "utf8"))).data;
  } catch {
    return undefined;
  }
}

export class ProjectLockedError extends Error {
  override readonly name = "ProjectLockedError";
  readonly pid: number | undefined;

  constructor(project: string, holder: Holder | undefined) {
    const who = holder === undefined ? "another process" : `pid ${holder.pid}`;
    const home = holder?.home === undefined ? "" : ` --home ${holder.home}`;
    super(
      `The meshes of ${project} are already run by ${who}. Use that process (tx status${home}), or stop it first (tx stop${home}).`,
    );
    this.pid = holder?.pid;
  }
}
