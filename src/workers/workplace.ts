import type { Model } from "../models/model.ts";
import type { WorkerId } from "../protocol/index.ts";
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
}

/** What a worker on a node may ask of the rest of its team. */
export interface Colleagues {
  createNode(self: ActingWorker, order: NewWork): Promise<ToolOutput>;
  send(from: WorkerId, to: string, content: string): Promise<ToolOutput>;
  suggest(self: ActingWorker, suggestion: string): Promise<ToolOutput>;
  /** What was begun of the work that this one handed out: a line each, told once. */
  begun(reader: WorkerId): string[];
}
