import type { AgentState } from "../../projections/index.ts";
import type { Scope } from "../../store/scope/scope.ts";

/** The environment variables that name folders to a command. */
export function folderVariables(
  { cwd, top, named }: Pick<Scope, "cwd" | "top" | "named">,
  { created }: Pick<AgentState, "created">,
): Record<string, string> {
  return { SCRATCH: cwd, RUN: top, ...(created.project ? { PROJECT: created.project } : {}), ...named };
}
