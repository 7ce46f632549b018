import type { AgentState } from "../../projections/index.ts";
import { runDir } from "../../store/paths.ts";
import type { Scope } from "../../store/scope/scope.ts";

/** The names of folders that a command may use. */
export function placesOf(
  { cwd }: Pick<Scope, "cwd">,
  agentDir: string,
  { run, created }: Pick<AgentState, "run" | "created">,
): Record<string, string> {
  return {
    SCRATCH: cwd,
    ...(run ? { RUN: runDir(agentDir, run.id) } : {}),
    ...(created.project ? { PROJECT: created.project } : {}),
  };
}
