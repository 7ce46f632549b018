import { spawn } from "node:child_process";
import type { Socket } from "node:net";

/**
 * Ends a process group when we are dead, however we died: a small shell waits at the far end of a pipe, which the kernel
 * closes with us. For processes of ours that no namespace holds together.
 */
export function endGroupWithUs(leader: number): GroupWatcher {
  const watcher = spawn("/bin/sh", ["-c", 'read -r _ <&3; kill -KILL "-$1"', "sh", String(leader)], {
    stdio: ["ignore", "ignore", "ignore", "pipe"],
    env: {},
    cwd: "/",
    detached: true,
  });
  // Without a watcher the group is still ended by us, as long as we live.
  watcher.on("error", () => {});
  const life = watcher.stdio[3] as Socket | null | undefined;
  life?.on("error", () => {}).unref();
  watcher.unref();
  return { stop: () => void watcher.kill("SIGKILL") };
}

export interface GroupWatcher {
  /** The group is gone: its number may soon be somebody else's. */
  stop(): void;
}
