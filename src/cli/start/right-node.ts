import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import { constants } from "node:os";
import { dirname, join } from "node:path";

/**
 * What an older Node does: it runs the program on the newer one that `npm ci` installed beside the program, or says what is
 * missing. This file may only use syntax that Node 20 can read.
 *
 * NODE-VERSION-1. Arguments, streams, current directory and exit code are those of the process that was called.
 * NODE-VERSION-2. A signal is passed on to the new process, and how that one ends is how this one ends.
 * NODE-VERSION-3. The new process does not outlive this one, even if this one is killed: it would continue unseen and
 *     spend money.
 */
export function runOnRightNode(program: string, entry: string, graceSeconds = 15): void {
  const node = ownNode(dirname(entry));
  if (node === undefined) {
    console.error(
      `${program} needs Node 22.18 or newer; this is ${process.versions.node} (${process.execPath}). Install a newer one: https://nodejs.org`,
    );
    process.exitCode = 1;
    return;
  }
  const child = spawn(node, [entry, ...process.argv.slice(2)], { stdio: "inherit" });
  const watcher = child.pid === undefined ? undefined : endWithUs(child.pid, graceSeconds);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  // A terminal sends these to both.
  for (const signal of ["SIGINT", "SIGQUIT"] as const) process.on(signal, () => {});
  child.on("error", (error) => {
    console.error(
      `${program} needs Node 22.18 or newer, and ${node} did not start: ${error.message}. Run npm ci there.`,
    );
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    watcher?.kill("SIGKILL");
    process.exitCode = code ?? 128 + (signal ? constants.signals[signal] : 0);
  });
}

/**
 * A small shell waits at a pipe that the kernel closes with us. It then asks the process to end, as a person would, and
 * kills it after a while. Not a parent-death signal, which is Linux's alone; not a descriptor of the process itself,
 * which would be lost when a server replaces its own image.
 */
function endWithUs(pid: number, graceSeconds: number): ChildProcess {
  const watcher = spawn("/bin/sh", ["-c", WATCH, "sh", String(pid), String(graceSeconds)], {
    stdio: ["ignore", "ignore", "ignore", "pipe"],
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
    // A Ctrl-C in the terminal is not for it.
    detached: true,
  });
  // Without a shell, the process ends with us only when we are told to end.
  watcher.on("error", () => {});
  const pipe = watcher.stdio[3] as Socket | null | undefined;
  pipe?.on("error", () => {}).unref();
  watcher.unref();
  return watcher;
}

const WATCH = `read -r _ <&3
kill -TERM "$1"
left=$2
while kill -0 "$1"; do
  [ "$left" -gt 0 ] || { kill -KILL "$1"; break; }
  left=$((left - 1)); sleep 1
done`;

function ownNode(from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const node = join(folder, "node_modules/.bin/node");
    if (existsSync(node)) return node;
    if (folder === dirname(folder)) return undefined;
  }
}
