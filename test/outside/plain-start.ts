import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Launched, RunningProgram } from "../../src/sandbox/program.ts";

/** A program as a plain child process, with no sandbox around it: what an adapter says to it and hears from it is the same. */
export async function startPlainly({ argv, env }: Launched, cwd: string, home: string): Promise<RunningProgram> {
  const [command, ...args] = argv;
  const path = `${process.execPath.replace(/\/[^/]+$/, "")}:/usr/bin:/bin`;
  // A group of its own, so that what it started can be ended with it.
  const child = spawn(command, args, {
    cwd,
    env: { PATH: path, HOME: home, TMPDIR: home, LANG: "C.UTF-8", ...env },
    detached: true,
  });
  await once(child, "spawn");
  const pid = child.pid ?? 0;
  const kill = (signal: NodeJS.Signals) => {
    try {
      process.kill(-pid, signal);
    } catch {
      // Gone already.
    }
  };
  // What it leaves behind would hold its output open.
  child.once("exit", () => kill("SIGKILL"));
  const ended = once(child, "close").then(([code, signal]) => ({ code, signal, exceeded: null }));
  return {
    pid,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    ended,
    async stop(graceMs) {
      kill("SIGTERM");
      const late = setTimeout(() => kill("SIGKILL"), graceMs);
      await ended;
      clearTimeout(late);
    },
  };
}
