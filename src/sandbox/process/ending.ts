import type { ChildProcess } from "node:child_process";
import { allGone, type FirstProcess, firstInside } from "../first-process.ts";

/**
 * Kills a confined process with everything inside, at once.
 *
 * END-1. SIGKILL goes to the first process of the outermost pid namespace, from outside. The kernel then kills
 *     everything inside, including nested namespaces; the holder of the namespace ends after that, so its exit means
 *     that all are dead.
 * END-2. A namespace that is created while we search for it is never used: our end of the lifeline is closed before the
 *     search, and the lifeline is tested inside before the command begins.
 */
export function end(child: ChildProcess, { group }: { group?: boolean }): void {
  if (child.pid === undefined) return;
  if (!group) child.stdio[3]?.destroy();
  const first = group ? null : firstInside(child.pid);
  sendSignal(first?.pid ?? (group ? -child.pid : child.pid), "SIGKILL");
  if (first) void endHolder(child, first);
}

/** It ends by itself, unless it has something to say about the end of the first and nobody reads that. */
async function endHolder(child: ChildProcess, first: FirstProcess): Promise<void> {
  await allGone(first, mostEndingMs);
  if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
}

/** A process may have ended before the signal reaches it. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended already.
  }
}

/** How long to wait for a killed process. Only the kernel can delay its end, for example because of a stuck disk. */
export const mostEndingMs = 10_000;
