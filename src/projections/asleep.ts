import { COORDINATOR } from "../protocol/index.ts";
import type { Situation } from "./situation.ts";
import type { OpenTrigger } from "./triggers.ts";

/** Whether only the clock or somebody's word will go on with it. */
export function isAsleep({ agent, roster, board }: Situation): boolean {
  if (agent.status === "completed") return true;
  const coordinator = roster[COORDINATOR];
  if (agent.created.mode !== "infinite" || agent.status !== "working") return false;
  if (coordinator?.status !== "waiting" || coordinator.for !== "news") return false;
  const isOpen = (status: string) => status !== "completed" && status !== "failed";
  return !Object.values(board.nodes).some(({ status, spec }) => spec.run_id === agent.run?.id && isOpen(status));
}

/** A heartbeat and a watch wake nobody while nothing is new, and what is called back is the program's own affair. */
export function wakes({ status, when, action }: OpenTrigger): boolean {
  return (
    status === "active" && when.type !== "heartbeat" && when.type !== "on_change" && action.type !== "run_callback"
  );
}
