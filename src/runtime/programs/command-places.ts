import type { AgentState } from "../../projections/index.ts";
import { runDir } from "../../store/paths.ts";
import type { Scope } from "../../store/scope/scope.ts";

/** What a command may call its folders. */
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
