import { createHash } from "node:crypto";
import type { Board } from "../projections/index.ts";
import type { NodeId } from "../protocol/index.ts";

/**
 * What each ref of a node points at, by hash: of the file, or of all files of the folder with their names. Published
 * files never change, so a pin that no longer fits means that somebody tampered.
 */
export function pinnedRefs(refs: Readonly<Record<string, string>>, board: Board): Record<string, string> {
  return Object.fromEntries(
    Object.entries(refs).flatMap(([name, target]) => {
      const pin = pinOf(target, board);
      return pin === undefined ? [] : [[name, pin]];
    }),
  );
}

function pinOf(target: string, board: Board): string | undefined {
  const [, id, path = ""] = /^(?:nodes\/)?(node-\d+)\/published\/?(.*)$/.exec(target) ?? [];
  const node = board.nodes[id as NodeId];
  const files = node && "files" in node ? node.files : [];
  const exact = files.find((file) => file.path === path);
  if (exact) return exact.sha256;
  const folder = path === "" ? "" : `${path.replace(/\/+$/, "")}/`;
  const inside = files.filter((file) => file.path.startsWith(folder));
  if (inside.length === 0) return undefined;
  const list = inside.map((file) => `${file.sha256}  ${file.path}\n`).sort();
  return createHash("sha256").update(list.join("")).digest("hex");
}
