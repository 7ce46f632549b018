import type { Board } from "../projections/index.ts";
import type { NodeId } from "../protocol/index.ts";
import type { NewWork } from "../tools/work.ts";

type Checked = { ok: true; dependencies: NodeId[] } | { ok: false; reason: string };

/** Work may only build on nodes that exist; a node made now can therefore never be part of a cycle. */
export function checkedOrder(order: NewWork, board: Board): Checked {
  const known = Object.keys(board.nodes);
  const dependencies: NodeId[] = [];
  for (const id of order.dependencies) {
    const node = board.nodes[id as NodeId];
    if (!node)
      return {
        ok: false,
        reason: `there is no node "${id}". ${known.length > 0 ? `There are: ${known.join(", ")}.` : "The board is empty."}`,
      };
    dependencies.push(node.id);
  }
  const prose = order.deliverables.find((path) => !looksLikePath(path));
  if (prose !== undefined) {
    return {
      ok: false,
      reason: `deliverables are file names, e.g. report.md; "${prose.slice(0, 80)}" is not one. Say the rest in the task.`,
    };
  }
  for (const [name, target] of Object.entries(order.refs)) {
    const match = /^(?:nodes\/)?(node-\d+)\/published(?:\/|$)/.exec(target);
    const node = match ? board.nodes[match[1] as NodeId] : undefined;
    if (!node)
      return {
        ok: false,
        reason: `ref "${name}" must point at a node's published files, e.g. node-1/published/report.md; it is "${target}".`,
      };
    // What a ref points at exists only once that node is completed.
    if (node.status !== "completed" && !dependencies.includes(node.id)) dependencies.push(node.id);
  }
  return { ok: true, dependencies };
}

function looksLikePath(text: string): boolean {
  const plain = text.length <= 200 && !/[\n\0\\]/.test(text) && !/^\/|(^|\/)\.\.(\/|$)/.test(text);
  // Words with spaces and neither an ending nor a folder are a sentence, not a name.
  return plain && (!/\s/.test(text) || /\.\w{1,8}$|\//.test(text));
}
