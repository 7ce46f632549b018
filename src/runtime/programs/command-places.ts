import type { AgentState } from "../../projections/index.ts";
import type { Scope } from "../../store/scope/scope.ts";

/** The names of folders that a command may use. */
export function placesOf(
  { cwd, top }: Pick<Scope, "cwd" | "top">,
  { created }: Pick<AgentState, "created">,
): Record<string, string> {
  return { SCRATCH: cwd, RUN: top, ...(created.project ? { PROJECT: created.project } : {}) };
}
