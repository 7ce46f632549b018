import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { setTimeout as after } from "node:timers/promises";
import type { Limits } from "../bounds/limits.ts";
import { calmPace, watchResources } from "../bounds/resource-watch.ts";
import { allGone, type FirstProcess, firstInside, programInside, thisProcess } from "../first-process.ts";
import type { Program, ProgramEnd, RunningProgram } from "../program.ts";
import { SandboxFailure } from "../sandbox-failure.ts";
import { end, mostEndingMs, sendSignal } from "./ending.ts";
import { failureText, type Launch, spawnLaunch } from "./launch.ts";
import { Output } from "./output.ts";

/**
 * Starts a program in a confining one, as `runCommand` does with a command, and hands out its streams.
 *
 * RUNNING-1. If the program never starts, the output of the confining program is the reason of the failure. Otherwise
 *     every byte is the program's own: none is lost, and no more are read than the caller consumes.
 * RUNNING-2. On `stop` the program gets SIGTERM, not what confines it. After the grace period everything gets SIGKILL,
 *     and unread output is dropped: `stop` takes at most the grace period and a second, whatever runs inside.
 * RUNNING-3. When it has ended, nothing inside is alive, even processes that hold none of our streams. If the kernel
 *     does not end a killed process, we do not wait forever.
 */
export async function startProgram(
  launch: Launch,
  program: Pick<Program, "binds" | "signal">,
  limits: Limits,
  over: () => void,
): Promise<RunningProgram> {
  program.signal.throwIfAborted();
  const child = spawnLaunch(launch, "pipe");
  const [stdout, stderr] = [taken(child.stdout), taken(child.stderr)];
  const begun = new BegunProgram(child, launch);
  const kill = () => begun.kill();
  program.signal.addEventListener("abort", kill);
  const watched = { pid: child.pid ?? -1, binds: program.binds, limits, cgroup: launch.cgroup ?? null };
  const watch = watchResources(watched, (what) => begun.kill(what), calmPace);
  const ended = begun.ended.finally(() => {
    program.signal.removeEventListener("abort", kill);
    watch.stop();
    over();
  });
  // The caller may look at its end later, or never.
  ended.catch(() => {});
  if (!(await begun.ready)) throw await whyNot(stdout, stderr, launch, program.signal, ended);
  const [pid, stdin] = [child.pid as number, child.stdin as Writable];
  return { pid, first: begun.first, stdin, stdout, stderr, ended, stop: (graceMs) => begun.stop(graceMs) };
}

async function whyNot(
  stdout: Readable,
  stderr: Readable,
  launch: Launch,
  stop: AbortSignal,
  ended: Promise<ProgramEnd>,
): Promise<unknown> {
  const complaint = new Output(4_000);
  stdout.resume();
  stderr.on("data", (chunk: Buffer) => complaint.push(chunk));
  const [{ code, signal }] = await Promise.all([ended, once(stderr, "end")]);
  if (stop.aborted) return stop.reason;
  return new SandboxFailure(
    failureText({ what: "program", holder: launch.program, code, signal, complaint: complaint.text() }),
  );
}

/** Node throws away what is left of a stream that nobody reads when a process exits; of this one it does not. */
function taken(stream: Readable | null): Readable {
  const through = new PassThrough();
  stream?.pipe(through);
  stream?.on("close", () => through.end());
  return through;
}

/** How long what a killed program said is still passed on, where nobody takes it. */
const leftoverMs = 400;

class BegunProgram {
  /** Whether it began; false: it ended before. */
  readonly ready: Promise<boolean>;
  readonly ended: Promise<ProgramEnd>;
  readonly #child: ChildProcess;
  readonly #launch: Launch;
  readonly #killed = Promise.withResolvers<void>();
  #exited = false;
  #first: FirstProcess | null = null;
  #byUs: ProgramEnd | null = null;

  constructor(child: ChildProcess, launch: Launch) {
    this.#child = child;
    this.#launch = launch;
    const life = child.stdio[3] as Readable;
    // An end that went away is not our failure: the exit tells.
    for (const stream of [child.stdin, child.stdout, child.stderr, life]) stream?.on("error", () => {});
    this.ready = new Promise((resolve) => {
      life.once("data", () => {
        this.#first ??= this.#firstInside();
        resolve(this.#byUs === null);
      });
      child.on("exit", () => resolve(false));
      child.on("error", () => resolve(false));
    });
    this.ended = this.#untilEnded(life);
  }

  get first(): FirstProcess | null {
    return this.#launch.group ? thisProcess(this.#child.pid ?? -1) : this.#first;
  }

  kill(exceeded: ProgramEnd["exceeded"] = null): void {
    this.#killed.resolve();
    if (this.#exited) return;
    this.#byUs ??= { code: null, signal: "SIGKILL", exceeded };
    this.#first ??= this.#firstInside();
    end(this.#child, this.#launch);
  }

  async stop(graceMs: number): Promise<void> {
    const grace = new AbortController();
    const program = this.#launch.group ? this.#child.pid : this.#first && programInside(this.#first);
    if (program && !this.#exited) sendSignal(program, "SIGTERM");
    await Promise.race([this.ended, after(graceMs, null, { signal: grace.signal }).catch(() => null)]);
    grace.abort();
    this.kill();
    await this.ended;
  }

  async #untilEnded(life: Readable): Promise<ProgramEnd> {
    const { stdout, stderr } = this.#child;
    const closed = Promise.all([stdout, stderr].map((stream) => new Promise((done) => stream?.once("close", done))));
    const { code, signal } = await Promise.race([
      this.#exit(),
      this.#killed.promise.then(() => stuckAfter(mostEndingMs)),
    ]);
    this.#exited = true;
    if (this.#first) await allGone(this.#first, mostEndingMs);
    // Outside of a pid namespace a process that left the group may hold the output forever, and nobody may read the
    // output of a program that we killed.
    const patience = this.#launch.group ? after(leftoverMs) : this.#killed.promise.then(() => after(leftoverMs));
    await Promise.race([closed, patience]);
    for (const stream of [stdout, stderr, life]) stream?.destroy();
    if (!this.#byUs && this.#launch.cgroup?.ranOutOfMemory())
      return { code: null, signal: "SIGKILL", exceeded: "memory" };
    return this.#byUs ?? { code, signal, exceeded: null };
  }

  #exit(): Promise<{ code: number | null; signal: string | null }> {
    return new Promise((resolve, reject) => {
      this.#child.on("exit", (code, signal) => resolve({ code, signal }));
      this.#child.on("error", (error) =>
        reject(new SandboxFailure(`${this.#launch.program} could not be started: ${error.message}.`)),
      );
    });
  }

  #firstInside(): FirstProcess | null {
    const { pid } = this.#child;
    return pid === undefined || this.#launch.group ? null : firstInside(pid);
  }
}

/** Nobody waits for a process that was killed for longer than this. */
const stuckAfter = (ms: number) => after(ms, { code: null, signal: "SIGKILL" }, { ref: false });
