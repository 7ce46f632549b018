import type { Board } from "../../projections/index.ts";
import type { NodeId, PublishedFile, RunId } from "../../protocol/index.ts";
import { hasContent } from "../disk/content-check.ts";
import { closeFolder, WalkError } from "../disk/folder.ts";
import { openFile, openFolder } from "../disk/walk.ts";
import { nodeDir } from "../paths.ts";
import type { Manifests } from "../scope/scoped-path.ts";

export function manifestsOf(board: () => Board): Manifests {
  return (runId, nodeId) => {
    const { nodes } = board();
    const node = Object.hasOwn(nodes, nodeId) ? nodes[nodeId as NodeId] : undefined;
    return node && node.spec.run_id === runId && "files" in node ? node.files : undefined;
  };
}

/** A node's published files that no longer exist with the recorded content. */
export async function changedFiles(
  agentDir: string,
  run: RunId,
  node: NodeId,
  files: readonly PublishedFile[],
  folder = "published",
): Promise<string[]> {
  const changed: string[] = [];
  const dir = nodeDir(agentDir, run, node);
  for (const file of files) if (!(await isUnchanged(dir, folder, file))) changed.push(file.path);
  return changed;
}

async function isUnchanged(dir: string, under: string, recorded: PublishedFile): Promise<boolean> {
  const parts = recorded.path.split("/");
  const name = parts.pop() ?? "";
  try {
    const folder = openFolder(dir, [under, ...parts]);
    try {
      const file = openFile(folder, name);
      try {
        return await hasContent(file.fd, recorded);
      } finally {
        file.close();
      }
    } finally {
      closeFolder(folder);
    }
  } catch (error) {
    if (error instanceof WalkError) return false;
    throw error;
  }
}
