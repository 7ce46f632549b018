import type { Server } from "node:net";
import type { Readable, Writable } from "node:stream";
import type { Binds } from "./binds/binds.ts";
import type { Bound, Limits } from "./bounds/limits.ts";
import type { FirstProcess } from "./first-process.ts";
import type { Network } from "./network/egress.ts";

/** A program that keeps running and exchanges messages, while a command runs once. Both have the same confinement. */
export interface Program {
  /**
   * The program and its arguments, and all its environment beside PATH, HOME, LANG and TERM; `door` is where it finds
   * ours: "http://127.0.0.1:port".
   */
  launch(door: string | null): Launched | Promise<Launched>;
  /** Must lie inside the binds. */
  cwd: string;
  binds: Binds;
  /** Absent: no network but the door. A listed `localhost:port` is also there under that very address inside. */
  network?: Network;
  /** Not yet listening. Only processes inside reach it, by the address given to `launch`. */
  door?: Server;
  /** Where they differ from those of commands. Address space is not bounded: programs reserve more than they use. */
  limits?: Partial<Limits>;
  /** Ends it and all it started, at once. */
  signal: AbortSignal;
}

export interface Launched {
  argv: readonly [string, ...string[]];
  env: Readonly<Record<string, string>>;
}

/** A running program. The caller reads both its streams: the program blocks while nobody reads them. */
export interface RunningProgram {
  /** The process of ours that holds the sandbox; killing it kills all that runs inside. */
  readonly pid: number;
  /** The process that lives as long as anything inside, to recognise it after a restart of ours, where known. */
  readonly first?: FirstProcess | null;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when it and all it started are gone and its output is read. */
  readonly ended: Promise<ProgramEnd>;
  /** Asks it to end (SIGTERM, then after the grace SIGKILL to everything) and resolves when all of it is gone. */
  stop(graceMs: number): Promise<void>;
}

export interface ProgramEnd {
  /** As the shell says it: 128 + n after signal n. Null when we ended it by SIGKILL. */
  code: number | null;
  signal: string | null;
  /** The bound it broke, for which it was ended. */
  exceeded: Bound | null;
}
