import type { Model } from "../models/model.ts";
import type { NodeState, WorkerState } from "../projections/index.ts";
import type { NewFact, NodeId, PublishedCommit, WorkerId } from "../protocol/index.ts";
import type { Scope } from "../store/scope/scope.ts";
import type { SchedulePort } from "../tools/schedule.ts";
import type { Tool, ToolOutput } from "../tools/tool.ts";
import type { NewWork } from "../tools/work.ts";
import type { ActingWorker, Recorder } from "./loop/recorded-loop.ts";
import type { ProgramPorts } from "./outside/session/program-ports.ts";
import type { Prompts } from "./prompt.ts";
import type { SurroundingsPorts } from "./surroundings.ts";

/** What every kind of worker is given by the runtime. */
export interface Workplace extends Recorder, SurroundingsPorts {
  prompts: Prompts;
  model(id: string): Promise<Model>;
  /** Files, shell and web, bound to what this worker may touch. */
  tools(
    scope: Scope,
    self: ActingWorker,
    model: Pick<Model, "searchesWeb" | "seesPictures">,
    recorder: Recorder,
  ): Tool[];
  /** Tools of other people's servers (`mcp_servers`), as they are whenever it is asked. */
  foreignTools(self: ActingWorker, recorder: Recorder): Promise<() => readonly Tool[]>;
  /** Runs a command that a spec wants to succeed, as the worker's own bash would; resolves with what went wrong, or null. */
  check(command: string, scope: Scope, signal: AbortSignal, recorder: Recorder): Promise<string | null>;
  maxTurns: number;
  /** What this worker may have happen later. */
  schedule(who: WorkerId): SchedulePort;
  /** Programs that think for themselves. */
  outside: ProgramPorts;
  /** Of an agent that writes. */
  repository?: RepositoryPort;
}

/** The repository of an agent that writes, as those who work on a node have it. */
export interface RepositoryPort {
  /** What the coordinator is told of it. */
  about(): Promise<string>;
  /** What a worker is told of the checks that its work must pass beside those of its task. */
  aboutChecks(): Promise<string>;
  /** Takes a node's work out of the branch again. */
  revert(node: NodeId, why: string, by: WorkerId): Promise<{ ok: boolean; said: string }>;
  /** The node's clone is there and set up when it resolves. Rejects with what is wrong. */
  open(node: NodeState, worker: WorkerState, signal: AbortSignal): Promise<void>;
  /**
   * Commits what the node has changed, and sees that it can come into the branch. Nothing else comes in before `end`.
   */
  makeReady(work: WorkToPublish, signal: AbortSignal): Promise<ReadyToPublish>;
  /** The node has ended: what is left in its clone is kept, and the clone goes. */
  ended(node: NodeState): Promise<void>;
}

export interface WorkToPublish {
  node: NodeState;
  worker: WorkerState;
  summary: string;
  checks: readonly string[];
  scope: Scope;
  toHuman: Recorder["toHuman"] | undefined;
}

export type ReadyToPublish =
  | { ok: false; reason: string }
  | {
      ok: true;
      inClone: boolean;
      /** Absent where it changed nothing. */
      commit?: PublishedCommit;
      /** To be appended with the publish. */
      facts: NewFact[];
      /** The branch has this file or folder with it. */
      has(path: string): Promise<boolean>;
      /** The facts are on disk. */
      landed(): Promise<void>;
      end(): void;
    };

/** What a worker on a node may ask of the rest of its team. */
export interface Colleagues {
  createNode(self: ActingWorker, order: NewWork): Promise<ToolOutput>;
  send(from: WorkerId, to: string, content: string): Promise<ToolOutput>;
  suggest(self: ActingWorker, suggestion: string): Promise<ToolOutput>;
  /** What was begun of the work that this one handed out: a line each, told once. */
  begun(reader: WorkerId): string[];
}
