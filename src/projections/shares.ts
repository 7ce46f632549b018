import type { RunId } from "../protocol/index.ts";
import type { Board, NodeState } from "./node-state.ts";
import { waitingWork } from "./waiting-work.ts";

/** Whose share the work of this node is paid from: its own, or the next above it; the agent's when there is none. */
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

/** Open nodes whose share was reserved from this holder's, or from the agent's budget: nobody else may spend it. */
export function sharesUnder(board: Board, run: RunId, holder: NodeState | undefined): NodeState[] {
  return [...waitingWork(board, run).shares].flatMap((id) => {
    const node = board.nodes[id];
    return node && holderOf(board, above(board, node))?.id === holder?.id ? [node] : [];
  });
}

function above(board: Board, node: NodeState): NodeState | undefined {
  return node.spec.parent_node_id ? board.nodes[node.spec.parent_node_id] : undefined;
}
