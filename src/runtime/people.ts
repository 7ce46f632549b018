import { createHash } from "node:crypto";
import type { Situation } from "../projections/index.ts";
import { COORDINATOR, type NewFact } from "../protocol/index.ts";
import { isTaken } from "./node-run.ts";

/** Someone without work would never look: the coordinator reads it in their place. */
export function readerOf(to: string, { roster, board }: Situation): string {
  const worker = roster[to];
  if (!worker || to === COORDINATOR) return to;
  if (worker.status === "busy" || worker.status === "waiting") return to;
  if (worker.status === "retired") return COORDINATOR;
  // Work that is theirs but not begun: they read it with their first words.
  const hasWork = Object.values(board.nodes).some(
    (node) => (node.status === "pending" && node.reserved_for === to) || (isTaken(node) && node.worker_id === to),
  );
  return hasWork ? to : COORDINATOR;
}

/** Mail for people who lost the work they were to begin with it. */
export function strandedMail(now: Situation): NewFact[] {
  if (!now.agent.run || now.agent.run.finished) return [];
  return Object.values(now.letters.queued)
    .filter(({ reader }) => {
      const worker = now.roster[reader];
      // Who was let go reads on until their work ends, and then it is forwarded with that.
      if (!worker || reader === COORDINATOR || (worker.status === "retired" && worker.still)) return false;
      return readerOf(reader, now) === COORDINATOR;
    })
    .map(({ id }) => ({ type: "message.forwarded", data: { message_id: id, to: COORDINATOR } }));
}

/** Folders and files are named by it, so it is plain; a name in another script is known by its hash. */
export function idOf(name: string): string {
  const folded = name.trim().toLowerCase().normalize("NFKD");
  const plain = folded.replace(/[^a-z0-9*]+/g, "-").replace(/^-+|-+$/g, "");
  return plain || `worker-${createHash("sha256").update(folded).digest("hex").slice(0, 8)}`;
}
