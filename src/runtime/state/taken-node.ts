import type { Board, NodeState } from "../../projections/index.ts";
import { HUMAN, type NewFact, type NodeId, type WorkerId } from "../../protocol/index.ts";

/** A node that a worker has taken and not ended. */
export type TakenNode = Extract<NodeState, { status: "assigned" | "running" | "publishing" }>;

export function isTaken(node: NodeState): node is TakenNode {
  return node.status === "assigned" || node.status === "running" || node.status === "publishing";
}

/** Whose node has ended is free. A person may have several: what is left of them still waits for that person. */
export function freedFrom(ended: NodeId, worker_id: WorkerId, board: Board): NewFact {
  const isLeft = (node: NodeState) => isTaken(node) && node.worker_id === HUMAN && node.id !== ended;
  const left = worker_id === HUMAN ? Object.values(board.nodes).find(isLeft) : undefined;
  return left
    ? { type: "worker.waiting", data: { worker_id, node_id: left.id, for: "human" } }
    : { type: "worker.idle", data: { worker_id } };
}
