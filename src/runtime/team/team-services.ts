import type { AgentId } from "../../protocol/index.ts";
import type { ProgramNames } from "../../workers/outside/programs.ts";
import type { ProgramPorts } from "../../workers/outside/session/program-ports.ts";
import type { Workplace } from "../../workers/workplace.ts";
import type { TeamLimits } from "./team-limits.ts";

/** What the runtime provides to every team: models, tools, programs and limits. */
export type TeamServices = Omit<
  Workplace,
  "log" | "now" | "pending" | "live" | "purse" | "schedule" | "outside" | "repository"
> &
  ProgramNames & {
    maxConcurrent: number;
    limits: TeamLimits;
    /** Throws, with advice, for a model that cannot be used here. */
    checkModel(id: string): void;
    /** Throws for a tool that nobody has, and names the nearest. */
    checkTools(names: readonly string[]): void;
    /** Rejects, with advice, for a model whose price nobody knows. */
    checkPrices(...models: (string | undefined)[]): Promise<void>;
    /** Programs that can be hired for this agent; the meshes of its project are among them. */
    outsideFor(agent: AgentId, project: string | null): ProgramPorts;
  };
