import { createHash } from "node:crypto";
import type { Board, NodeState } from "../../projections/index.ts";
import type { NodeId, PublishedFile } from "../../protocol/index.ts";
import { changedFiles } from "../../store/run/manifests.ts";

/**
 * The hash of what each ref of a node points at: of the file, or of all files of the folder with their names. Neither
 * published nor handed-over files ever change, so a mismatch means that somebody tampered with them.
 */
export function pinnedRefs(refs: Readonly<Record<string, string>>, board: Board): Record<string, string> {
  return Object.fromEntries(
    Object.entries(refs).flatMap(([name, target]) => {
      const pin = pinOf(target, board);
      return pin === undefined ? [] : [[name, pin]];
    }),
  );
}

/** Which refs point at files that were changed after they were published; undefined if none does. */
export async function problemWithRefs(
  refs: Readonly<Record<string, string>>,
  board: Board,
  agentDir: string,
): Promise<string | undefined> {
  const problems: string[] = [];
  for (const [name, target] of Object.entries(refs)) {
    const { node, files, folder } = filesOf(target, board);
    const changed = node && (await changedFiles(agentDir, node.spec.run_id, node.id, files, folder));
    const paths = changed?.slice(0, MOST_NAMED).map((path) => `nodes/${node?.id}/${folder}/${path}`);
    if (changed && paths && changed.length > 0)
      problems.push(`${name}: ${paths.join(", ")}${changed.length > paths.length ? " and others" : ""}`);
  }
  if (problems.length === 0) return undefined;
  return `What it builds on was changed after it was published, so it was not begun (${problems.join("; ")}). Have that work done again, or restore the files from a backup.`;
}

const MOST_NAMED = 5;

interface Referred {
  node?: NodeState | undefined;
  files: readonly PublishedFile[];
  folder: "published" | "inputs";
}

function filesOf(target: string, board: Board): Referred {
  const [, id, where, path = ""] = /^(?:nodes\/)?(node-\d+)\/(published|inputs)\/?(.*)$/.exec(target) ?? [];
  const node = board.nodes[id as NodeId];
  const folder = where === "inputs" ? "inputs" : "published";
  const files = node ? recordedIn(node, folder) : [];
  const exact = files.find((file) => file.path === path);
  if (exact) return { node, files: [exact], folder };
  const top = path === "" ? "" : `${path.replace(/\/+$/, "")}/`;
  return { node, files: files.filter((file) => file.path.startsWith(top)), folder };
}

function recordedIn(node: NodeState, folder: Referred["folder"]): readonly PublishedFile[] {
  if (folder === "inputs") return (node.spec.inputs ?? []).flatMap(({ files }) => files);
  return "files" in node ? node.files : [];
}

function pinOf(target: string, board: Board): string | undefined {
  const { files: inside, folder } = filesOf(target, board);
  const [only] = inside;
  if (only === undefined) return undefined;
  if (inside.length === 1 && target.endsWith(`/${folder}/${only.path}`)) return only.sha256;
  const list = inside.map((file) => `${file.sha256}  ${file.path}\n`).sort();
  return createHash("sha256").update(list.join("")).digest("hex");
}
