import type { NodeId } from "../protocol/index.ts";
import { type Board, hasEnded, type NodeState } from "./board.ts";

/** Whether a node is, or builds on, one of those that are open because they wait for the work in hand. */
export function waitsForAny(node: NodeState, above: ReadonlySet<NodeId>, board: Board): boolean {
  const seen = new Set<NodeId>();
  const queue = [node.id];
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    if (above.has(id)) return true;
    if (seen.has(id)) continue;
    seen.add(id);
    queue.push(...(board.nodes[id]?.spec.dependencies ?? []));
  }
  return false;
}

/** Whether it is held, or builds on something that is: it waits for a trigger that may never come. */
export function isHeldUp(node: NodeState, board: Board): boolean {
  const seen = new Set<NodeId>();
  const queue = [node.id];
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    const each = board.nodes[id];
    if (seen.has(id) || each?.status !== "pending") continue;
    if (each.held) return true;
    seen.add(id);
    queue.push(...each.spec.dependencies);
  }
  return false;
}

/** The node itself and everything above it. */
export function ancestorsOf(board: Board, node: NodeState | undefined): Set<NodeId> {
  const above = new Set<NodeId>();
  for (
    let each = node;
    each && !above.has(each.id);
    each = each.spec.parent_node_id ? board.nodes[each.spec.parent_node_id] : undefined
  ) {
    above.add(each.id);
  }
  return above;
}

/** Nodes whose results this one waits for: what it handed out, and what those who have ended left behind. */
export function openBelow({ id }: Pick<NodeState, "id">, board: Board): NodeId[] {
  const children = board.nodes[id]?.children ?? [];
  return children.flatMap((child) => (hasEnded(board.nodes[child]) ? openBelow({ id: child }, board) : [child]));
}
