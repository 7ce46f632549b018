import { createHash } from "node:crypto";
import type { PublishedFile } from "../../protocol/index.ts";
import { closeFolder } from "../disk/folder.ts";
import { openFolder } from "../disk/walk.ts";
import { writeWhole } from "../disk/whole-file.ts";

/**
 * Where files are that were given along with a node: beside `scratch/`, readable by its worker and writable by nobody.
 */
export const INPUTS = "inputs";

/** Puts a file into a node's `inputs/`. Synced: unlike the rest of the folder, it cannot be rebuilt from the facts. */
export async function putInput(nodeDir: string, path: string, bytes: Buffer): Promise<PublishedFile> {
  const parts = path.split("/");
  const name = parts.pop() ?? "";
  const folder = openFolder(nodeDir, [INPUTS, ...parts], { createFrom: 0 });
  try {
    await writeWhole(folder, name, bytes, "synced", 0o400);
  } finally {
    closeFolder(folder);
  }
  return { path, bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}
