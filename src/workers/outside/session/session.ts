import type { ProgramProfile, Usage } from "../../../protocol/index.ts";
import type { Bound } from "../../../sandbox/bounds/limits.ts";
import type { Launched, RunningProgram } from "../../../sandbox/program.ts";
import type { ToolRequest } from "./tool-request.ts";

/**
 * A program that thinks for itself, at work in the sandbox: Claude Code, an ACP agent, or anything that reads and writes
 * files. What it does comes as events; `program-run.ts` follows them, keeps the record and decides.
 *
 * SESSION-1. `events` ends, and the last one is `exited`, whatever the program does.
 * SESSION-2. A line that cannot be understood is a `noted` event, never a throw.
 * SESSION-3. `close` leaves no process, at the latest after 5 s, whatever the program does.
 */
export interface OutsideSession {
  readonly events: AsyncIterable<OutsideEvent>;
  /** Says something to it; while it works that is in its context by its next model call, where the program can. */
  say(text: string): Promise<void>;
  /** False while what is said would wait for the end of the turn. Left out: it always hears. */
  hears?(): boolean;
  /**
   * What was said into its turn and its model cannot have read when it decided on this call of one of our tools, or null;
   * nothing is returned twice. Resolves when the program has told what it did before that call.
   */
  takeUnread?(tool: string): Promise<Unread | null>;
  /** Whether the session can be resumed after the program has ended. Left out: it cannot. */
  canBeResumed?(): boolean;
  /** Decides what it asked for in `asked_permission`. */
  decide(id: string, decision: Decision): Promise<void>;
  /** Stops what it is doing; the session goes on, if the program can do that. */
  interrupt(): Promise<void>;
  /** Ends its turn; resolves when it has said what that cost. Left out: `close` sees to that. */
  endTurn?(): Promise<void>;
  close(): Promise<void>;
}

export interface Unread {
  /** What it would hear after its turn only, if it were not told now. All else is in its next model call by itself. */
  words: string[];
}

export interface Decision {
  allow: boolean;
  /** What it is told where it may not. */
  why?: string;
}

export type OutsideEvent =
  /** It has begun; with the id by which the session can be resumed after a restart, if the program has such. */
  | { kind: "begun"; session_id: string | null; model?: string; about?: string }
  | { kind: "delta"; of: "text" | "reasoning"; text: string }
  | { kind: "said"; text: string }
  /** `isBegun`: it runs, and what its model says with it may not be over. */
  | { kind: "called"; call_id: string; tool: string; args: unknown; isBegun?: true }
  | { kind: "answered"; call_id: string; ok: boolean; content: string }
  /** It may go on only when `decide` was called with this id. `call_id` where the program says which call it is. */
  | ({ kind: "asked_permission"; id: string; call_id?: string } & ToolRequest)
  /** It cannot call our tools, and requests a call by a file: made on its behalf. After a restart the id is the same. */
  | {
      kind: "requested_call";
      tool: "send_message" | "publish" | "checkpoint" | "suggest_next";
      args: Record<string, unknown>;
      id?: string;
    }
  /**
   * One model call of its own, or all of a turn, as fine as the program says. Counts, never totals. `estimated`: the
   * program does not say, or not yet. `corrects`: what all calls of the turn took that were estimated so far. `aside`: by
   * a sub-agent of its own, so it is not a turn.
   */
  | {
      kind: "used";
      model: string;
      usage: Usage;
      cost_usd: number | null;
      estimated?: true;
      corrects?: true;
      aside?: true;
    }
  /** Its turn is over and it waits to be spoken to. `cost_usd`: what all of the turn has cost, where the program says so. */
  | {
      kind: "rested";
      how: "done" | "cancelled" | "failed" | "refused";
      words: string;
      retryable?: boolean;
      cost_usd?: number;
    }
  /** Something for the log that a person may want: a warning, a line on stderr, or that its model is asked again. */
  | { kind: "noted"; text: string; retry?: { reason: string; status?: number; in_ms: number } }
  /** It says that the session it was to resume is not there, or cannot be resumed: another try would fail, too. */
  | { kind: "lost"; why: string }
  | { kind: "exited"; code: number | null; signal: string | null; exceeded: Bound | null };

export type PermissionRequest = Extract<OutsideEvent, { kind: "asked_permission" }>;

/** What a session is begun with. */
export interface SessionSetup {
  profile: ProgramProfile;
  /** Who it is, the rules, its files, who writes to it and how: for the program's system prompt. */
  system: string;
  /** The first words, or what has happened meanwhile when a session is resumed. */
  words: string;
  /** The session to resume, or null for a new one. */
  resume: string | null;
  /**
   * The id of a new session, where it is known before the program starts: it is on record when this resolves, so that
   * nothing is ever done in a session that could not be resumed.
   */
  named?(session_id: string): Promise<void>;
  /** The model it is asked to use, where it can choose. */
  model: string | null;
  /** What is known about the work, for a program that reads files. */
  context?: Record<string, unknown>;
  /** How a program that reads files is to speak, where that differs from a worker of a team. */
  how?: string;
  /** Which assignment this is: what is in the folder from between two of them is another worker's. */
  assigned: number;
  /** Where it works: the node's scratch folder, or its clone of a repository. */
  cwd: string;
  /** The node's scratch folder, where it works in a clone: for results that are not part of the repository. */
  scratch?: string;
  /** The program's own home: kept over restarts, seen by nobody else. */
  home: string;
  /** Starts it in the sandbox of this worker, if there is one. `launch` is asked once its login is in its home. */
  start(launch: Launcher): Promise<RunningProgram>;
}

/** How it is started; `server` is our MCP server for it. */
export type Launcher = (server: ToolServer, isConfined: boolean) => Launched | Promise<Launched>;

/** The model of a program that does not name one. */
export const UNKNOWN_MODEL = "unknown";

/** The name of our MCP server in programs. */
export const OUR_SERVER = "agiraph";

/** The MCP server that offers our tools to one program, and to no other. */
export interface ToolServer {
  url: string;
  token: string;
}

/** Speaks one kind of program's language. */
export type Adapter = (setup: SessionSetup) => Promise<OutsideSession>;
