import { COORDINATOR } from "../protocol/index.ts";
import { openNodes } from "./board.ts";
import { mayNeverBegin } from "./lineage.ts";
import type { Situation } from "./situation.ts";
import type { OpenTrigger } from "./triggers.ts";

/** Whether only the clock or a message makes it continue. */
export function isAsleep({ agent, roster, board }: Situation): boolean {
  if (agent.status === "completed") return true;
  const coordinator = roster[COORDINATOR];
  if (agent.created.mode !== "infinite" || agent.status !== "working") return false;
  if (coordinator?.status !== "waiting" || coordinator.for !== "news") return false;
  // What is held, or builds on something cancelled, does not go on by itself.
  return !agent.run || openNodes(board, agent.run.id).every((node) => mayNeverBegin(node, board));
}

/** A heartbeat and a watch wake nobody while nothing is new, and callbacks are handled by the program itself. */
export function wakes({ status, when, action }: OpenTrigger): boolean {
  return (
    status === "active" && when.type !== "heartbeat" && when.type !== "on_change" && action.type !== "run_callback"
  );
}
