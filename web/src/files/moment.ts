import { hasEnded, type Situation } from "../../../src/projections/index.ts";
import type { NodeId } from "../../../src/protocol/index.ts";

/**
 * Only current files are stored, not their history. What the record tells about a file of the workspace at a moment:
 * `same` is published and therefore never changed, `later` cannot have existed yet; for the rest it is unknown.
 */
export function fileAt(path: string, { agent, board, roster }: Situation): "same" | "later" | "unknown" {
  const [, run, kind, id, ...rest] = /^runs\/run-(\d+)(?:\/(nodes|workers)\/([^/]+)(?:\/(.*))?)?/.exec(path) ?? [];
  if (run === undefined) return "unknown";
  if (Number(run) > agent.runs) return "later";
  if (kind === "workers" && id !== undefined) return Object.hasOwn(roster, id) ? "unknown" : "later";
  if (kind !== "nodes" || id === undefined) return "unknown";
  const node = Object.hasOwn(board.nodes, id) ? board.nodes[id as NodeId] : undefined;
  if (!node) return "later";
  const published = /^published\/(.+)$/.exec(rest[0] ?? "")?.[1];
  if (published === undefined) return "unknown";
  return hasEnded(node) && node.files.some((file) => file.path === published) ? "same" : "later";
}
