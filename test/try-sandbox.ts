import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import {
  openSandbox,
  type Program,
  type RunningProgram,
  type SandboxOptions,
  type ShellCommand,
} from "../src/sandbox/index.ts";

/** The sandbox of this machine. */
export const sandbox = await openSandbox();

/** Why the tests of real confinement are skipped; empty when they are not. It stands in their titles. */
export const skipped = sandbox.kind === "bubblewrap" ? "" : `(skipped: ${sandbox.about})`;

/** A folder to write in, in a folder of its own, and a way to run commands there. Gone when the test is over. */
export async function inSandbox(options?: SandboxOptions) {
  const root = await realpath(await mkdtemp(join(tmpdir(), "agiraph-test-")));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const work = join(root, "desk");
  await mkdir(work, { mode: 0o700 });
  const box = options ? await openSandbox(options) : sandbox;

  function run(
    command: string,
    { read = [], hide = [], ...more }: Partial<ShellCommand> & { read?: string[]; hide?: string[] } = {},
  ) {
    return box.run({
      command,
      cwd: work,
      binds: { write: [work], read, hide },
      env: {},
      timeoutMs: 20_000,
      signal: new AbortController().signal,
      ...more,
    });
  }

  /** Starts a script of bash as a program that lives on; it is gone when the test is over. */
  async function start(script: string, { read = [], hide = [], env = {}, ...more }: ProgramWish = {}) {
    const running = await box.start({
      launch: (door) => ({ argv: ["bash", "-c", script], env: { ...env, ...(door ? { DOOR: door } : {}) } }),
      cwd: work,
      binds: { write: [work], read, hide },
      signal: new AbortController().signal,
      ...more,
    });
    onTestFinished(() => running.stop(0));
    return running;
  }
  return { root, run, start, file: (name: string) => join(work, name), box };
}

type ProgramWish = Partial<Program> & { read?: string[]; hide?: string[]; env?: Record<string, string> };

/** All it said, and how it ended. */
export async function whole({ stdout, stderr, ended }: RunningProgram) {
  const [out, err, how] = await Promise.all([text(stdout), text(stderr), ended]);
  return { out, err, ...how };
}

/**
 * A pipe in the command's folder. Its reader ends when the last process that holds it for writing is dead: nobody has to
 * look, nobody has to wait.
 */
export function lifeOf(fifo: string) {
  execFileSync("mkfifo", ["-m", "666", fifo]);
  const reader = spawn("cat", [fifo], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void reader.kill("SIGKILL"));
  return { begun: once(reader.stdout, "data"), ended: text(reader.stdout) };
}

/** Leaves its session, its group and its parent, as a daemon does. */
export const daemon = "(setsid sh -c 'echo alive >&9; exec sleep 1000' &)";

/** The same, deaf to every signal that can be refused, and holding nothing but the pipe. */
export const deafDaemon =
  '(setsid sh -c \'trap "" TERM INT HUP QUIT PIPE; exec </dev/null >/dev/null 2>&1; (setsid sh -c "echo alive >&9; while :; do sleep 1000; done" &) \' &)';
