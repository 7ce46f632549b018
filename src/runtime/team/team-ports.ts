import type { Situation } from "../../projections/index.ts";
import type { NewFact, NodeId, RunId } from "../../protocol/index.ts";
import type { AgentLog, Batch } from "../../store/store.ts";
import type { ProgramPorts } from "../../workers/outside/session/program-ports.ts";
import type { TeamLimits } from "./team-limits.ts";

/** What the decisions for one run depend on. */
export interface TeamPorts {
  run: RunId;
  log: AgentLog;
  now(): Situation;
  /** With what is appended and not yet on disk: everything is decided by it. */
  pending(): Situation;
  limits: TeamLimits;
  /** Stops the work on this node; resolves when its worker has put everything away. */
  stopWork(id: NodeId): Promise<void>;
  /** Resolves when what the facts say of this node is in its folder too. */
  folderWritten(id: NodeId): Promise<void>;
  /** Programs that can be hired. */
  outside: Pick<ProgramPorts, "list" | "program" | "kindOf" | "needsPerson" | "ended">;
  /** Throws, with advice, for a model that cannot be used here. */
  checkModel(id: string): void;
  /** The program that stands where a model does. */
  programFor(model: string): string | undefined;
  /** Throws for a tool that nobody has, and names the nearest. */
  checkTools(names: readonly string[]): void;
  /** Rejects, with advice, for a model whose price nobody knows. */
  checkPrices(...models: (string | undefined)[]): Promise<void>;
}

/** Records a decision in one append; for a run that has ended, nothing is recorded any more. */
export function record(
  { run, log, pending }: TeamPorts,
  facts: NewFact[],
  said: Omit<Batch, "facts"> = {},
): Promise<void> {
  const current = pending().agent.run;
  if (current?.id !== run || current.finished) throw new Error("the run has ended.");
  return log.append({ facts, ...said }).durable;
}
