import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import type { Duplex } from "node:stream";
import type { Cgroup } from "../bounds/cgroups.ts";
import type { InnerNetwork } from "../network/inner-network.ts";
import { end } from "./ending.ts";
import { type GroupWatcher, startGroupWatcher } from "./group-watcher.ts";

/** A confining program, and how it is started. */
export interface Launch {
  program: string;
  args: string[];
  cwd: string;
  env: Record<string, string>;
  /** No pid namespace holds its children together: end the process group, and do not wait for those that left it. */
  group?: boolean;
  /** Given by a descriptor instead of the command line, which everybody on this machine can read. */
  options?: readonly string[];
  /** The filter of system calls, given by a descriptor too. */
  filter?: Buffer | null;
  /** What bounds its memory, if this machine can. */
  cgroup?: Cgroup | null;
  network?: InnerNetwork | undefined;
}

/** Descriptors: 3 is the lifeline, 4 the options, 5 the filter, 6 the channel for the ports of its network. */
export function spawnLaunch(launch: Launch, stdin: "ignore" | "pipe"): ChildProcess {
  const watcher = launch.group ? startGroupWatcher() : undefined;
  const child = spawn(launch.program, launch.args, {
    cwd: launch.cwd,
    env: launch.env,
    stdio: [
      ...[stdin, "pipe", "pipe", "pipe"],
      launch.options ? "pipe" : "ignore",
      launch.filter ? "pipe" : "ignore",
      ...(launch.network ? ["ipc"] : []),
    ] as StdioOptions,
    detached: true,
  });
  if (watcher) endGroupInTime(child, watcher);
  launch.network?.serve(child);
  give(child, optionsFd, launch.options?.map((option) => `${option}\0`).join(""));
  give(child, filterFd, launch.filter);
  return child;
}

/** Nothing else ends a group when we are dead. It is ended with its leader; then nobody watches its number any more. */
function endGroupInTime(child: ChildProcess, watcher: GroupWatcher): void {
  if (child.pid === undefined) return void watcher.stop();
  watcher.watch(child.pid);
  child.on("exit", () => {
    end(child, { group: true });
    watcher.stop();
  });
}

function give(child: ChildProcess, fd: number, content: string | Buffer | null | undefined): void {
  const far = child.stdio[fd] as Duplex | null | undefined;
  // A program that never read it has said why before it ended.
  far?.on("error", () => {}).on("close", () => far.destroy());
  far?.resume().end(content ?? "");
}

export const optionsFd = 4;
export const filterFd = 5;

/** The error message if the confining program ended before it ran anything. */
export function failureText({ what, holder, code, signal, complaint }: FailedLaunch): string {
  const said = complaint.trim() || "it said nothing";
  return `The ${what} was not run, because ${holder} failed (${signal ?? `exit code ${code}`}): ${said}`;
}

interface FailedLaunch {
  what: "command" | "program";
  /** The confining program. */
  holder: string;
  code: number | null;
  signal: string | null;
  /** What it wrote to stderr. */
  complaint: string;
}
