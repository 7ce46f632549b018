import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import { overBound } from "../bounds/disk-use.ts";
import type { Bound } from "../bounds/limits.ts";
import { watchResources } from "../bounds/resource-watch.ts";
import type { SandboxPorts, ShellCommand, ShellResult } from "../sandbox.ts";
import { SandboxFailure } from "../sandbox-failure.ts";
import { end, mostEndingMs } from "./ending.ts";
import { failureText, type Launch, spawnLaunch } from "./launch.ts";
import { Output } from "./output.ts";

/**
 * Starts a confining program, collects its output, and kills it if necessary.
 *
 * PROCESS-1. The promise settles only when the process is gone and its output is read. If the kernel does not end a
 *     killed process, that is a failure after a while: no call waits forever.
 * PROCESS-2. Whatever ends it (time, signal, a bound) ends it by SIGKILL: nothing inside can delay that.
 * PROCESS-3. Descriptor 3 is the lifeline: the far end sees it closed when we are dead, and writes to it once it is
 *     ready to run the command. If it never wrote, the confinement failed, and stderr says why.
 */
export async function runCommand(launch: Launch, command: ShellCommand, ports: SandboxPorts): Promise<ShellResult> {
  command.signal.throwIfAborted();
  const begun = ports.now();
  const child = spawnLaunch(launch, "ignore");
  const output = new Output(command.maxOutputBytes ?? defaultOutputBytes);
  const complaint = new Output(4_000);
  const life = child.stdio[3] as Readable;
  let started = false;
  child.stdout?.on("data", (chunk: Buffer) => output.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => complaint.push(chunk));
  life.on("data", () => (started = true));
  // The far end may be gone already; then its exit tells.
  life.on("error", () => {});

  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", (error) =>
      reject(new SandboxFailure(`${launch.program} could not be started: ${error.message}.`)),
    );
    whenOver(child, launch, (code, signal) => resolve({ code, signal }));
  });
  const why = endWhenDue(child, launch, command, ports);
  try {
    tellStart(child, launch, command);
    const { code, signal } = await Promise.race([ended, why.stuck]).catch((error: unknown) => {
      throw command.signal.aborted ? command.signal.reason : error;
    });
    if (command.signal.aborted) throw command.signal.reason;
    if (launch.cgroup?.ranOutOfMemory()) why.reason ??= "memory";
    if (!started && !why.reason)
      throw new SandboxFailure(
        failureText({ what: "command", holder: launch.program, code, signal, complaint: complaint.text() }),
      );
    const byUs = why.reason !== null;
    const { binds, signal: stop } = command;
    const left = byUs ? null : await overBound(binds, ports.limits, { at: "end", signal: stop });
    if (stop.aborted) throw stop.reason;
    return {
      code: byUs ? null : code,
      signal: byUs ? "SIGKILL" : signal,
      output: output.text(),
      truncated: output.truncated,
      timedOut: why.reason === "timeout",
      exceeded: why.reason === "timeout" || why.reason === "abort" ? null : (why.reason ?? left),
      ms: Math.round(ports.now() - begun),
    };
  } finally {
    why.stop();
    life.destroy();
  }
}

const defaultOutputBytes = 30_000;

interface Ended {
  code: number | null;
  signal: string | null;
}

/** `close` comes when all holders of the output are gone; outside of a pid namespace a process may hold it forever. */
function whenOver(
  child: ChildProcess,
  launch: Launch,
  over: (code: number | null, signal: string | null) => void,
): void {
  child.on("close", over);
  if (!launch.group) return;
  child.on("exit", (code, signal) => {
    setTimeout(() => {
      child.stdout?.destroy();
      child.stderr?.destroy();
      over(code, signal);
    }, 500).unref();
  });
}

function endWhenDue(child: ChildProcess, launch: Launch, command: ShellCommand, ports: SandboxPorts) {
  const { promise: stuck, reject } = Promise.withResolvers<never>();
  const state: Deadline = { reason: null, stuck, stop };
  let patience: NodeJS.Timeout | undefined;
  const because = (reason: NonNullable<Deadline["reason"]>) => () => {
    state.reason ??= reason;
    end(child, launch);
    patience ??= setTimeout(() => reject(new SandboxFailure(stuckText)), mostEndingMs);
  };
  const abort = because("abort");
  const timer = setTimeout(because("timeout"), command.timeoutMs);
  const watched = {
    pid: child.pid ?? -1,
    binds: command.binds,
    limits: ports.limits,
    cgroup: launch.cgroup ?? null,
  };
  const watch = watchResources(watched, (what) => because(what)());
  command.signal.addEventListener("abort", abort);
  function stop() {
    clearTimeout(timer);
    clearTimeout(patience);
    watch.stop();
    command.signal.removeEventListener("abort", abort);
  }
  return state;
}

interface Deadline {
  reason: "timeout" | "abort" | Bound | null;
  /** Rejects when what was ended is still there after a while. */
  stuck: Promise<never>;
  stop(): void;
}

const stuckText = `The command was killed, but after ${mostEndingMs / 1000} s some of its processes have not ended. The kernel holds them, perhaps because a disk does not answer.`;

/** The callback may throw; then the command is ended, since nobody would know of it. */
function tellStart(child: ChildProcess, launch: Launch, command: ShellCommand): void {
  try {
    if (child.pid !== undefined) command.onStart?.(child.pid);
  } catch (error) {
    end(child, launch);
    throw error;
  }
}
