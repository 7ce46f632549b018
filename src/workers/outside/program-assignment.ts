import type { Mailbox } from "../../mail/mailbox.ts";
import type { WorkerState } from "../../projections/index.ts";
import type { Entry, Outcome, ProgramProfile, RunId, UserEntry } from "../../protocol/index.ts";
import type { Binds } from "../../sandbox/binds/binds.ts";
import type { Tools } from "../../tools/toolbox.ts";
import type { Past } from "../loop/past.ts";
import type { ActingWorker } from "../loop/recorded-loop.ts";
import type { Workplace } from "../workplace.ts";
import type { ProgramToolPorts } from "./program-tools.ts";

/** What a program is started with. */
export interface ProgramStartup {
  assignment: ProgramAssignment;
  profile: ProgramProfile;
  workplace: Workplace;
  signal: AbortSignal;
}

export interface AssignmentBinds extends Binds {
  /** Files of the project that it does not see although they are not hidden, and why, in sentences. */
  omitted?: readonly string[];
}

/** What a program is to work on: a node, or the lead of a run. */
export interface ProgramAssignment {
  readonly self: ActingWorker;
  readonly run_id: RunId;
  readonly spawned: WorkerState["spawned"];
  /** The caller closes it. */
  readonly mailbox: Mailbox;
  /** What was said before, if this assignment is resumed. */
  readonly begun: Past | undefined;
  /** The session to resume, or null for a new one. */
  readonly resume: string | null;
  /** Which assignment this is, by the number of its fact: between two of them another worker may have had the work. */
  readonly assigned: number;
  /** Where it works. */
  readonly cwd: string;
  /** The node's scratch folder, where it works in a clone. */
  readonly scratch?: string;
  /** Looked up again at each start: what may be read grows while others publish. */
  binds(): Promise<AssignmentBinds>;
  /** What is known about the work, for a program that reads files. */
  readonly context: Record<string, unknown>;
  tools(ports: ProgramToolPorts): Tools;
  /** Puts the first words on disk; resolves with them and the prompt they are said under. */
  begin(tools: Tools): Promise<{ system: string; words: string }>;
  /** What was said so far, as it is on record now. */
  past(): Promise<readonly Entry[]>;
  /** All it needs to go on when its session is lost; `told`: results of its calls that it may not have heard. */
  newSessionText(past: readonly Entry[], told: readonly string[]): Promise<string>;
  /** The work was ended from outside: nothing more is told. */
  hasEnded(): boolean;
  /** What has not been told yet. */
  news(): UserEntry[];
  mostTurns(): number;
  /** Whether others are at work on what it handed out. */
  othersWork(): boolean;
  /** Its turn is over: what it waits for, if it waits for anything but its human. */
  waitsFor(): Promise<"children" | "news" | null>;
  /** Its turn is over and there is nothing to wait for: how it ends, or what it is told. */
  onReplyWithoutCall(words: string, inARow: number): Promise<Outcome | UserEntry[]>;
  /** How often in a row it is started again when it ends, or hangs, in the middle of its work. */
  readonly restarts: number;
  readonly endsBy: "publishing" | "finishing";
}
