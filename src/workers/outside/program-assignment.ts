import type { Mailbox } from "../../mail/mailbox.ts";
import type { WorkerState } from "../../projections/index.ts";
import type { Entry, Outcome, RunId, UserEntry } from "../../protocol/index.ts";
import type { Binds } from "../../sandbox/binds/binds.ts";
import type { Tools } from "../../tools/toolbox.ts";
import type { Past } from "../loop/past.ts";
import type { Actor } from "../loop/recorded-loop.ts";
import type { ProgramToolPorts } from "./program-tools.ts";

export interface AssignmentBinds extends Binds {
  /** What of the project it does not see although it is not hidden, and why, in sentences. */
  omitted?: readonly string[];
}

/** What a program sits down to: a node, or the lead of a run. */
export interface ProgramAssignment {
  readonly actor: Actor;
  readonly run_id: RunId;
  readonly spawned: WorkerState["spawned"];
  /** The caller closes it. */
  readonly mailbox: Mailbox;
  /** What was said here before, if this is taken up again. */
  readonly begun: Past | undefined;
  /** The session to take up, or null for a new one. */
  readonly resume: string | null;
  /** Which assignment this is, by its fact: between two of them somebody else may have had the work. */
  readonly assigned: number;
  /** Where it works. */
  readonly cwd: string;
  /** Looked up anew at each start: what may be read grows while others publish. */
  binds(): Promise<AssignmentBinds>;
  /** What is known about the work, for a program that reads files. */
  readonly context: Record<string, unknown>;
  tools(ports: ProgramToolPorts): Tools;
  /** Puts the first words on disk; resolves with them and the prompt they are said under. */
  begin(tools: Tools): Promise<{ system: string; words: string }>;
  /** What was said here so far, as it is on record now. */
  past(): Promise<readonly Entry[]>;
  /** All it needs to go on where its session is lost; `told` is what became of its calls, as far as it may not know. */
  newSessionText(past: readonly Entry[], told: readonly string[]): Promise<string>;
  /** Ended from outside: nothing is told any more. */
  hasEnded(): boolean;
  /** What has not been told yet. */
  news(): UserEntry[];
  mostTurns(): number;
  /** Whether others are at work on what it handed out. */
  othersWork(): boolean;
  /** Its turn is over: what it waits for, if it waits for anything but its human. */
  waitsFor(): Promise<"children" | "news" | null>;
  /** Its turn is over and there is nothing to wait for: how it ends, or what it is told. */
  onSilence(words: string, inARow: number): Promise<Outcome | UserEntry[]>;
  /** How often in a row it is started again when it ends, or hangs, in the middle of its work. */
  readonly restarts: number;
  readonly endsBy: "publishing" | "finishing";
}
