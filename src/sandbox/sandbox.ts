import { access } from "node:fs/promises";
import { openBubblewrap } from "./bubblewrap.ts";
import type { Program, Running } from "./program.ts";
import type { Lookup } from "./public-address.ts";
import { openSeatbelt } from "./seatbelt.ts";
import { openUnsafe } from "./unsafe.ts";

/**
 * How a command that a model wrote is confined, and a program that thinks for itself.
 *
 * SANDBOX-1. It reads and writes its binds and nothing else of the user's; system folders are there to read.
 * SANDBOX-2. It has no network, except the hosts that were allowed, by way of our own proxy.
 * SANDBOX-3. It gets the environment it was given and none of ours.
 * SANDBOX-4. When `run` or `ended` settles, none of its processes is alive; when we are killed, neither. Nothing inside
 *     can prevent that. Only where the kernel itself does not end a killed process, both settle without it after a
 *     while.
 * SANDBOX-5. Processes, memory, files, file size, disk, time and output are bounded.
 * SANDBOX-6. If this machine cannot hold SANDBOX-1 to SANDBOX-5, `kind` is "none" and both refuse, unless someone asked
 *     for "unsafe".
 */
export interface Sandbox {
  readonly kind: SandboxKind;
  /** For `none`: what is missing and what to do. For the others: what confines, in a few words. */
  readonly about: string;
  /** Rejects with the signal's reason when stopped, and with SandboxFailure when the command could not be started. */
  run(command: Command): Promise<CommandResult>;
  /** The same for a program that lives on; resolves when it has begun. SANDBOX-5 holds without time and output. */
  start(program: Program): Promise<Running>;
  /** Does one thing that must be denied and one that must work. */
  selfTest(): Promise<SelfTest>;
}

export type SandboxKind = "bubblewrap" | "seatbelt" | "none" | "unsafe";

export type SelfTest = { ok: true; detail: string } | { ok: false; reason: string };

export interface Command {
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
  signal: AbortSignal;
  /** The process of ours that holds the sandbox; killing it kills all that runs inside. */
  onStart?: (pid: number) => void;
}

/** Absolute paths of files and folders; the deeper path wins, so a folder can be writable inside one that is hidden. */
export interface Binds {
  readonly write: readonly string[];
  readonly read: readonly string[];
  readonly hide: readonly string[];
  /** Folders of which only some parts are shown, read-only; all else in them is not there, whatever it becomes. */
  readonly laidOut?: readonly LaidOutFolder[];
}

export interface LaidOutFolder {
  readonly at: string;
  readonly parts: readonly LaidOutPart[];
}

export interface LaidOutPart {
  /** As seen from the folder. */
  readonly path: string;
  /** Bound as it is; made again as a link; or an empty folder in which other parts may lie. */
  readonly kind: "folder" | "file" | "link" | "empty";
  /** Where a link leads; null for the others. */
  readonly target: string | null;
}

export interface Network {
  /** "host", "host:port", "*.host" or "*". A private address must itself be listed: "10.0.0.7", "localhost:8080". */
  readonly allow: readonly string[];
}

export interface CommandResult {
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

/** `disk`: bytes on it; `files`: how many there are. */
export type Bound = "memory" | "disk" | "files";

export interface Limits {
  processes: number;
  /** Of one process. */
  addressSpaceBytes: number;
  /** Of all its processes together, with what lies in /tmp and /dev/shm inside. */
  memoryBytes: number;
  /** Of one file. */
  fileBytes: number;
  /** Of all that its writable folders hold. */
  diskBytes: number;
  /** In its writable folders together. */
  files: number;
  /** What must stay free on the disks it writes to. */
  freeDiskBytes: number;
  /** How many files must still find room there; on small disks a twentieth of all that do. */
  freeFiles: number;
  /** Of /tmp and of /dev/shm inside, which live in memory. */
  tmpBytes: number;
}

const GiB = 1024 ** 3;

export const defaultLimits: Limits = {
  processes: 512,
  addressSpaceBytes: 4 * GiB,
  memoryBytes: 4 * GiB,
  fileBytes: 2 * GiB,
  diskBytes: 8 * GiB,
  files: 1_000_000,
  freeDiskBytes: GiB / 2,
  freeFiles: 50_000,
  tmpBytes: GiB / 2,
};

export interface SandboxOptions {
  /** Run commands unconfined. Loud wherever it shows. */
  unsafe?: boolean;
  limits?: Partial<Limits>;
  platform?: NodeJS.Platform;
  /** 0 when we are root and have to step down first. */
  uid?: number;
  /** Where the confining program is; for tests. */
  bwrap?: string;
  /** What this machine is taken to lack; for tests. */
  without?: Missing;
  lookup?: Lookup;
  /** Milliseconds on a clock that only goes forward. */
  now?: () => number;
}

/**
 * The best confinement this machine has, already tried out. Landlock is not among them: Node cannot make its calls, and
 * alone it would hold neither SANDBOX-2 (it knows TCP only) nor SANDBOX-4 (it has no pid namespace).
 */
export async function openSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const platform = options.platform ?? process.platform;
  const ports: SandboxPorts = {
    limits: { ...defaultLimits, ...options.limits },
    uid: options.uid ?? process.getuid?.() ?? -1,
    now: options.now ?? (() => performance.now()),
    ...(options.lookup ? { lookup: options.lookup } : {}),
  };
  if (options.unsafe) return openUnsafe(ports);
  if (platform === "linux") return linux(options, ports);
  if (platform === "darwin") return proven(await openSeatbelt(ports));
  return noSandbox(`There is no sandbox for ${platform} yet. ${unsafeHint}`);
}

/** What every kind of sandbox is made with. */
export interface SandboxPorts {
  limits: Limits;
  uid: number;
  now: () => number;
  lookup?: Lookup;
}

/** The command never ran: the confinement itself failed. */
export class SandboxFailure extends Error {
  override readonly name = "SandboxFailure";
}

const unsafeHint = "Or pass --unsafe-no-sandbox to run commands unconfined, with all your rights.";
const installHint = "Install it (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap).";

/** What bubblewrap can do without, with less certainty. */
export interface Missing {
  cgroups?: boolean;
  outerNamespace?: boolean;
}

async function linux({ bwrap, without = {} }: SandboxOptions, ports: SandboxPorts): Promise<Sandbox> {
  const found = await firstExisting(
    bwrap ? [bwrap] : ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"],
  );
  if (!found)
    return noSandbox(`bubblewrap is not installed, so commands cannot be confined. ${installHint} ${unsafeHint}`);
  const best = await proven(await openBubblewrap(found, ports, without));
  if (best.kind !== "none" || without.outerNamespace) return best;
  // Some machines let bubblewrap make namespaces, but not within another one.
  return proven(await openBubblewrap(found, ports, { ...without, outerNamespace: true }));
}

async function proven(sandbox: Sandbox): Promise<Sandbox> {
  if (sandbox.kind === "none") return sandbox;
  const test = await sandbox.selfTest();
  return test.ok ? sandbox : noSandbox(`The ${sandbox.kind} sandbox does not hold here: ${test.reason} ${unsafeHint}`);
}

function noSandbox(why: string): Sandbox {
  return {
    kind: "none",
    about: why,
    run: () => Promise.reject(new SandboxFailure(why)),
    start: () => Promise.reject(new SandboxFailure(why)),
    selfTest: async () => ({ ok: false, reason: why }),
  };
}

async function firstExisting(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const there = await access(path).then(
      () => true,
      () => false,
    );
    if (there) return path;
  }
  return undefined;
}
