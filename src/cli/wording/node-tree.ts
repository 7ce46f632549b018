import type { NodeState } from "../../projections/index.ts";
import type { NodeId } from "../../protocol/index.ts";

/** A node with the tree lines that lead to it: `│ ├`. */
export interface TreeRow {
  node: NodeState;
  stem: string;
}

/**
 * Sub-nodes below the node that created them, in the order of creation. If that node is not shown, they go below its
 * nearest ancestor that is.
 */
export function nodeTree(
  nodes: readonly NodeState[],
  parentOf: (id: NodeId) => NodeId | null,
  roots: "stemmed" | "bare",
): TreeRow[] {
  const shown = new Set(nodes.map((node) => node.id));
  const children = new Map<NodeId | null, NodeState[]>();
  for (const node of nodes) {
    let above = node.spec.parent_node_id;
    while (above !== null && !shown.has(above)) above = parentOf(above);
    children.set(above, [...(children.get(above) ?? []), node]);
  }
  const under = (parent: NodeId | null, lead: string, isBare: boolean): TreeRow[] =>
    (children.get(parent) ?? []).flatMap((node, at, all) => {
      const isLast = at === all.length - 1;
      const stem = isBare ? "" : `${lead}${isLast ? "└" : "├"} `;
      return [{ node, stem }, ...under(node.id, isBare ? "" : `${lead}${isLast ? "  " : "│ "}`, false)];
    });
  return under(null, "", roots === "bare");
}

/** Why a node has not begun: what must come first, and for whom it is reserved. */
export function whyWaiting(node: NodeState, isDone: (id: NodeId) => boolean, nameOf: (id: string) => string): string {
  if (node.status !== "pending") return "";
  const first = node.spec.dependencies.filter((id) => !isDone(id));
  const reasons = [
    ...(first.length > 0 ? [`after ${first.join(", ")}`] : []),
    ...(node.reserved_for ? [`for ${nameOf(node.reserved_for)}`] : []),
  ];
  return reasons.join("; ");
}
