import type { Situation } from "../../projections/index.ts";
import { count } from "./format.ts";
import { displayName } from "./names.ts";

/** What was not completed in the last run, in a few words; empty if everything was. */
export function undoneWords({ agent, board, roster }: Situation): string {
  const nodes = Object.values(board.nodes).filter((node) => node.spec.run_id === agent.run?.id);
  const failed = nodes.filter((node) => node.status === "failed");
  if (failed.length === 0) return "";
  const names = failed.slice(0, MOST).map(({ id, worker_id }) => `${id} (${displayName(roster, worker_id)})`);
  const more = failed.length > MOST ? ` and ${failed.length - MOST} more` : "";
  return `${failed.length} of ${count(nodes.length, "node")} failed: ${names.join(", ")}${more}`;
}

const MOST = 5;
