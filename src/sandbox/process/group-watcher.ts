import { spawn } from "node:child_process";
import type { Socket } from "node:net";

/**
 * Ends a process group when we die, however we died: a small shell waits at the far end of a pipe, which the kernel
 * closes with us. For processes that are not in a namespace. It is started before the group, so that it waits already when
 * the leader is named. If we are killed between the leader's start and `watch`, the group lives until its input ends.
 */
export function startGroupWatcher(): GroupWatcher {
  const script = 'read -r leader <&3 || exit; read -r _ <&3; kill -KILL "-$leader"';
  const watcher = spawn("/bin/sh", ["-c", script], {
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
  return {
    watch: (leader) => void life?.write(`${leader}\n`),
    stop: () => void watcher.kill("SIGKILL"),
  };
}

export interface GroupWatcher {
  /** Right after the leader was started. */
  watch(leader: number): void;
  /** The group is gone: its number may soon belong to another process. */
  stop(): void;
}
