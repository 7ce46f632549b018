import type { Situation } from "../../../src/projections/index.ts";

/** Whether the agent may change a repository, and so has a branch to be reviewed. */
export function isWriting({ agent: { created } }: Situation): boolean {
  return "write" in created && created.write !== undefined;
}
