import type { NodeId } from "../protocol/index.ts";
import { type Board, hasEnded, type NodeState } from "./node-state.ts";

/** Whether a node is, or depends on, one of the nodes that are open because they wait for the current work. */
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

/** Whether it is held, or depends on a node that is held or cancelled: what it waits for may never come. */
export function mayNeverBegin(node: NodeState, board: Board): boolean {
  const seen = new Set<NodeId>();
  const queue = [node.id];
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    const each = board.nodes[id];
    if (each?.status === "cancelled" && id !== node.id) return true;
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

/**
 * Nodes whose results this one waits for: those that it handed out, and those that ended nodes left behind. Not those
 * that depend on a cancelled node: that wait would never end.
 */
export function openBelow({ id }: Pick<NodeState, "id">, board: Board): NodeId[] {
  const children = board.nodes[id]?.children ?? [];
  return children.flatMap((child) => {
    const node = board.nodes[child];
    if (!node || hasEnded(node)) return openBelow({ id: child }, board);
    return mayNeverBegin(node, board) ? [] : [child];
  });
}

/** A node and everything that was handed out below it, the lowest first. */
export function familyOf(node: NodeState, board: Board): NodeState[] {
  const below = node.children.flatMap((id) => board.nodes[id] ?? []);
  return [...below.flatMap((each) => familyOf(each, board)), node];
}

/** What waits, directly or indirectly, for these nodes to be completed. */
export function waitingFor(ids: readonly NodeId[], board: Board): NodeId[] {
  const gone = new Set<NodeId>(ids);
  // In the order they were made: what a node builds on is older than the node.
  for (const { id, status, spec } of Object.values(board.nodes))
    if (status === "pending" && spec.dependencies.some((each) => gone.has(each))) gone.add(id);
  return [...gone].slice(ids.length);
}
