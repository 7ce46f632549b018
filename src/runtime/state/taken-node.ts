import type { NodeState } from "../../projections/index.ts";

/** A node that a worker has taken and not ended. */
export type TakenNode = Extract<NodeState, { status: "assigned" | "running" | "publishing" }>;

export function isTaken(node: NodeState): node is TakenNode {
  return node.status === "assigned" || node.status === "running" || node.status === "publishing";
}
