import type { Situation } from "../../projections/index.ts";
import { COORDINATOR, HUMAN, type NewFact } from "../../protocol/index.ts";
import { isTaken } from "../state/taken-node.ts";
import { forwardedMail } from "./forwarded-mail.ts";

/** A worker without work would never read it: the coordinator reads it instead. */
export function readerOf(to: string, { roster, board }: Situation): string {
  const worker = roster[to];
  if (!worker || to === COORDINATOR || to === HUMAN) return to;
  if (worker.status === "busy" || worker.status === "waiting") return to;
  if (worker.status === "retired") return COORDINATOR;
  // Work that is theirs but not begun: they read it with their first words.
  const hasWork = Object.values(board.nodes).some(
    (node) => (node.status === "pending" && node.reserved_for === to) || (isTaken(node) && node.worker_id === to),
  );
  return hasWork ? to : COORDINATOR;
}

/** Mail for workers that lost the node they were to read it on. */
export function strandedMail(now: Situation): NewFact[] {
  if (!now.agent.run || now.agent.run.finished) return [];
  return forwardedMail(now, (reader) => {
    const worker = now.roster[reader];
    // A worker that was let go reads its mail until its work ends; what is unread is forwarded then.
    if (!worker || reader === COORDINATOR || reader === HUMAN || (worker.status === "retired" && worker.still))
      return false;
    return readerOf(reader, now) === COORDINATOR;
  });
}
