import type { Binds } from "./binds/binds.ts";
import type { Bound, Limits } from "./bounds/limits.ts";
import type { Network } from "./network/egress.ts";
import type { Lookup } from "./network/public-address.ts";
import type { Program, RunningProgram } from "./program.ts";

/**
 * How a command that a model wrote, or an outside program, is confined.
 *
 * SANDBOX-1. It can read and write its binds and nothing else of the user's; system folders are readable.
 * SANDBOX-2. It has no network, except for allowed hosts, through our own proxy.
 * SANDBOX-3. It gets the given environment and none of ours.
 * SANDBOX-4. When `run` or `ended` settles, none of its processes is alive; when we are killed, neither. Nothing inside
 *     can prevent that. Only where the kernel itself does not end a killed process, both settle without it after a
 *     while.
 * SANDBOX-5. Processes, memory, files, file size, disk, time and output are limited.
 * SANDBOX-6. If this machine cannot guarantee SANDBOX-1 to SANDBOX-5, `kind` is "none" and both refuse, unless someone
 *     asked for "unsafe".
 */
export interface Sandbox {
  readonly kind: SandboxKind;
  /** For `none`: what is missing and what to do. For the others: what confines, in a few words. */
  readonly about: string;
  /** Rejects with the signal's reason when stopped, and with SandboxFailure when the command could not be started. */
  run(command: ShellCommand): Promise<ShellResult>;
  /** The same for a program that lives on; resolves when it has begun. SANDBOX-5 holds without time and output. */
  start(program: Program): Promise<RunningProgram>;
  /** Does one thing that must be denied and one that must work, and then runs the command that is given, if any. */
  selfTest(question?: string): Promise<SelfTest>;
}

export type SandboxKind = "bubblewrap" | "seatbelt" | "none" | "unsafe";

/** `answer`: what the given command printed. */
export type SelfTest = { ok: true; detail: string; answer?: string } | { ok: false; reason: string };

export interface ShellCommand {
  /** Given to `bash -c`. */
  command: string;
  /** Must lie inside the binds. */
  cwd: string;
  binds: Binds;
  /** All the environment the command gets, beside PATH, HOME, LANG and TERM. */
  env: Readonly<Record<string, string>>;
  timeoutMs: number;
  maxOutputBytes?: number;
  /** Absent: no network at all. */
  network?: Network;
  /** Beside those of the sandbox. */
  limits?: Partial<Limits>;
  signal: AbortSignal;
  /** The process of ours that holds the sandbox; killing it kills all that runs inside. */
  onStart?: (pid: number) => void;
}

export interface ShellResult {
  /** As the shell says it: 128 + n after signal n. Null when we ended it. */
  code: number | null;
  signal: string | null;
  /** What it said on stdout and stderr, as it came. */
  output: string;
  truncated: boolean;
  timedOut: boolean;
  /** The bound it broke, for which it was ended. */
  exceeded: Bound | null;
  ms: number;
}

/** What every kind of sandbox is created with. */
export interface SandboxPorts {
  limits: Limits;
  uid: number;
  now: () => number;
  lookup?: Lookup;
}
