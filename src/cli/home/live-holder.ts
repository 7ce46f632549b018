import { nodeDisk } from "../../store/disk/node-disk.ts";
import { type HomeHolder, readHolder } from "../../store/home/home.ts";
import { isRunning } from "../../store/home/process-stamp.ts";
import { lockFile } from "../../store/paths.ts";

/** The file beside the lock says who took it last; only the lock itself tells whether they still hold it. */
export function liveHolder(home: string): HomeHolder | undefined {
  const holder = readHolder(nodeDisk, home);
  // One that has ended is not asked for by trying the lock: two who look at once would take each other for it.
  if (holder === undefined || holder.ended_ts !== undefined || !isAlive(holder.pid)) return undefined;
  // Also where somebody has deleted the lock's file under it.
  if (isRunning(holder)) return holder;
  const lock = nodeDisk.lock(lockFile(home));
  lock?.release();
  return lock === undefined ? holder : undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
