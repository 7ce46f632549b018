import { readFileSync } from "node:fs";

/**
 * Identifies a process uniquely, even from a later one with the same pid: by boot id and start time. Undefined if it is
 * not running, or the system does not say (no /proc).
 */
export function processStamp(pid: number = process.pid): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the program's name, which may hold anything; the 22nd is the time it was started at.
    const [state, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (state === "Z" || state === "X") return undefined;
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim()}/${rest[18]}`;
  } catch {
    return undefined;
  }
}

/** Whether the exact process that left this stamp is running. Undefined without a stamp. */
export function isRunning({ pid, process: stamp }: { pid: number; process?: string | undefined }): boolean {
  return stamp !== undefined && processStamp(pid) === stamp;
}
