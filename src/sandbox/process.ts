import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import type { Duplex, Readable } from "node:stream";
import type { Cgroup } from "./cgroups.ts";
import { overBound } from "./disk-use.ts";
import { end, mostEndingMs } from "./ending.ts";
import { type GroupWatcher, startGroupWatcher } from "./group-watcher.ts";
import type { InnerNetwork } from "./inner-network.ts";
import { Output } from "./output.ts";
import { watchResources } from "./resource-watch.ts";
import { type Bound, type Command, type CommandResult, SandboxFailure, type SandboxPorts } from "./sandbox.ts";

/**
 * Starts a confining program, collects what comes out, and ends it when it must be ended.
 *
 * PROCESS-1. The promise settles only when the process is gone and its output is read. What we killed and the kernel
 *     does not end is a failure after a while: no call waits for ever.
 * PROCESS-2. Whatever ends it (time, signal, a bound) ends it by SIGKILL: nothing inside can delay that.
 * PROCESS-3. Descriptor 3 is the line of life: the far end finds it closed when we are dead, and writes to it once it
 *     is ready to run the command. If it never wrote, the confinement failed, and stderr says why.
 */
export async function runProcess(launch: Launch, command: Command, ports: SandboxPorts): Promise<CommandResult> {
  command.signal.throwIfAborted();
  const begun = ports.now();
  const child = spawnLaunch(launch, "ignore");
  const output = new Output(command.maxOutputBytes ?? defaultOutputBytes);
  const complaint = new Output(4_000);
  const life = child.stdio[3] as Readable;
  let started = false;
  child.stdout?.on("data", (chunk: Buffer) => output.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => (launch.stderrIsOutput ? output : complaint).push(chunk));
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
      throw new SandboxFailure(failureText("command", launch.program, code, signal, complaint.text()));
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

export interface Launch {
  program: string;
  args: string[];
  cwd: string;
  env: Record<string, string>;
  /** No pid namespace holds its children together: end the process group, and do not wait for who left it. */
  group?: boolean;
  stderrIsOutput?: boolean;
  /** Given by a descriptor instead of the command line, which everybody on this machine can read. */
  options?: readonly string[];
  /** The filter of system calls, given by a descriptor too. */
  filter?: Buffer | null;
  /** What bounds its memory, if this machine can. */
  cgroup?: Cgroup | null;
  network?: InnerNetwork | undefined;
}

/** Descriptors: 3 is the line of life, 4 the options, 5 the filter, 6 the channel for the ports of its network. */
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
  // Who never read it has said why on its way out.
  far?.on("error", () => {}).on("close", () => far.destroy());
  far?.resume().end(content ?? "");
}

export const optionsFd = 4;
export const filterFd = 5;

export const defaultOutputBytes = 30_000;

/** What bash does before the command: see PROCESS-3, bounds, and last in line for processor and memory. */
export function prologue({ limits, timeoutMs, linux, held = false, before = "" }: Prologue): string {
  const bounds = [
    "ulimit -c 0",
    `ulimit -f ${bound(limits.fileBytes / 1024)}`,
    `ulimit -u ${bound(limits.processes)}`,
    // A program that lives on has no such time, and reserves address space by the dozen of gigabytes without using it.
    ...(timeoutMs === null ? [] : [`ulimit -t ${Math.ceil(timeoutMs / 1000) * 64}`]),
    ...(linux && timeoutMs !== null ? [`ulimit -v ${bound(limits.addressSpaceBytes / 1024)}`] : []),
    ...(linux ? ["echo 1000 >/proc/self/oom_score_adj"] : []),
  ];
  return [
    "read -t 0 -u 3 && exit 125",
    before,
    // One stream for all the words of a command.
    timeoutMs === null ? "" : "exec 2>&1",
    // What we ourselves inherited from whoever started us, and Node passes on.
    'cd /dev/fd && for fd in *; do [ "$fd" -gt 3 ] 2>/dev/null && eval "exec $fd>&-"; done; cd "$OLDPWD"; unset OLDPWD',
    timeoutMs === null ? 'command -v -- "$1" >/dev/null || { echo "$1 is not there inside" >&2; exit 127; }' : "",
    // A bound of the machine that is tighter than ours stays as it is.
    ...bounds.map((bound) => `{ ${bound}; } 2>/dev/null`),
    ...(linux && !held ? [untilHeld] : []),
    "read -t 0 -u 3 && exit 125",
    "echo >&3; exec 3>&-",
    timeoutMs === null ? 'exec nice -n 10 "$@"' : 'exec nice -n 10 bash --noprofile --norc -c "$1" bash',
  ]
    .filter(Boolean)
    .join("\n");
}

/**
 * Without a namespace around it: bubblewrap's first process inside asks to die with its parent only after it has started
 * us. Until it sleeps, waiting for us, it might not: whoever finds us dead then has to go by himself.
 */
const untilHeld = `until read -r _ _ state _ </proc/1/stat && [ "$state" = S ]; do
  read -r -t 0.005 -u 3; [ $? -gt 128 ] || exit 125
done
unset state`;

const bound = (value: number) => (Number.isFinite(value) ? Math.ceil(value) : "unlimited");

interface Prologue {
  limits: SandboxPorts["limits"];
  /** Null for a program, which has no time to end by; its arguments are then the script's own. */
  timeoutMs: number | null;
  linux: boolean;
  /** Whether a namespace around it ends it with us. */
  held?: boolean;
  before?: string;
}

interface Ended {
  code: number | null;
  signal: string | null;
}

/** `close` comes when all holders of the output are gone; outside of a pid namespace someone may hold it for ever. */
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

function endWhenDue(child: ChildProcess, launch: Launch, command: Command, ports: SandboxPorts) {
  const { promise: stuck, reject } = Promise.withResolvers<never>();
  const state: Due = { reason: null, stuck, stop };
  let patience: NodeJS.Timeout | undefined;
  const because = (reason: NonNullable<Due["reason"]>) => () => {
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

interface Due {
  reason: "timeout" | "abort" | Bound | null;
  /** Rejects when what was ended is still there after a while. */
  stuck: Promise<never>;
  stop(): void;
}

const stuckText = `The command was killed, but after ${mostEndingMs / 1000} s some of its processes have not ended. The kernel holds them, perhaps because a disk does not answer.`;

/** Whoever is told may throw; a command that nobody knows of must not go on. */
function tellStart(child: ChildProcess, launch: Launch, command: Command): void {
  try {
    if (child.pid !== undefined) command.onStart?.(child.pid);
  } catch (error) {
    end(child, launch);
    throw error;
  }
}

export function failureText(
  what: "command" | "program",
  holder: string,
  code: number | null,
  signal: string | null,
  complaint: string,
): string {
  const said = complaint.trim() || "it said nothing";
  return `The ${what} was not run, because ${holder} failed (${signal ?? `exit code ${code}`}): ${said}`;
}
