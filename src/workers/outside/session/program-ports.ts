import type { FactOf, NodeId, ProgramProfile, Usage } from "../../../protocol/index.ts";
import type { Binds } from "../../../sandbox/binds/binds.ts";
import type { RunningProgram } from "../../../sandbox/program.ts";
import type { Tools } from "../../../tools/toolbox.ts";
import type { Adapter, Launcher } from "./session.ts";

/** What the runtime provides for programs that think for themselves. */
export interface ProgramPorts {
  /** Those that can be named when somebody is hired, with what they are, or why they cannot be used here. */
  list(): readonly ListedProgram[];
  /** The profile of this name. Throws, with advice, for one that cannot be used here. */
  program(name: string): ProgramProfile;
  /** The kind of the program of this name, installed or not; undefined where there is none. */
  kindOf(name: string): ProgramProfile["kind"] | undefined;
  /** Why it may not be hired before a person, who is then asked, has agreed; null if it may. */
  needsPerson?(name: string): Promise<string | null>;
  /** Speaks the language of its kind. */
  adapter(kind: ProgramProfile["kind"]): Promise<Adapter>;
  /**
   * Makes its home, with what the profile shares with it; one that is there stays as it is. A program with the user's
   * rights gets the user's own login, others are lent one when they start. The skills of the project are put there each
   * time.
   */
  makeHome(
    profile: ProgramProfile,
    home: string,
    rights?: "confined" | "the user's",
    project?: string | null,
  ): Promise<void>;
  /** Starts a program in the sandbox, with an MCP server for its tools that no other program can use. */
  start(stay: ProgramStart): Promise<ConfinedProgram>;
  /** The login of a program that works in this home; undefined where it has none that we look after. */
  login?(name: string, profile: ProgramProfile, home: string): ProgramLogin | undefined;
  /** The end of a node that such a worker had is on record; the result of a cancelled one is not wanted any more. */
  ended?(
    worker: Pick<FactOf<"worker.spawned">["data"], "kind" | "program">,
    node: NodeId,
    how?: "cancelled",
  ): Promise<void>;
  /** What a model call of a program has cost, as far as prices are known; null otherwise. */
  price(model: string, usage: Usage): Promise<number | null>;
}

/** A login that we keep valid. */
export interface ProgramLogin {
  /** Why it cannot be used, with what a person does about it; null where it can. */
  problem(): Promise<string | null>;
  /** The same after it was not accepted: then another one is asked for. */
  refused(): Promise<string | null>;
  /** Resolves when a login that could not be used should be tried again. */
  changed(signal: AbortSignal): Promise<void>;
}

export interface ListedProgram {
  name: string;
  about: string;
  /** Why it cannot be hired, or null. */
  missing: string | null;
}

/** How a program is started in the sandbox. */
export interface ProgramStart {
  profile: ProgramProfile;
  tools: Tools;
  /** What its worker may touch. Its home and its own files come on top. */
  binds: Binds;
  cwd: string;
  home: string;
  launch: Launcher;
  signal: AbortSignal;
}

export interface ConfinedProgram extends RunningProgram {
  /** What confines it, for the record; "unsafe" where nothing does. */
  readonly sandbox: string;
}
