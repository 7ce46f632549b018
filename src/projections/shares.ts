import type { RunId } from "../protocol/index.ts";
import type { Board, NodeState } from "./node-state.ts";
import { waitingWork } from "./waiting-work.ts";

/**
 * Whose share pays for the work on this node: its own, or that of the nearest node above it; without one, the agent's
 * budget.
 */
export function holderOf(board: Board, node: NodeState | undefined): NodeState | undefined {
  let each = node;
  while (each && each.spec.budget_usd === undefined) each = above(board, each);
  return each;
}

/** The holder of a node's share and all holders above it, the nearest first. */
export function holdersOf(board: Board, node: NodeState | undefined): NodeState[] {
  const holders: NodeState[] = [];
  for (let each = holderOf(board, node); each; each = holderOf(board, above(board, each))) holders.push(each);
  return holders;
}

/** Open nodes whose share was reserved from this holder's, or from the agent's budget: others may not spend it. */
export function sharesUnder(board: Board, run: RunId, holder: NodeState | undefined): NodeState[] {
  return [...waitingWork(board, run).shares].flatMap((id) => {
    const node = board.nodes[id];
    return node && holderOf(board, above(board, node))?.id === holder?.id ? [node] : [];
  });
}

function above(board: Board, node: NodeState): NodeState | undefined {
  return node.spec.parent_node_id ? board.nodes[node.spec.parent_node_id] : undefined;
}
