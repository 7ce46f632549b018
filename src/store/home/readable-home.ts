import { accessSync, constants, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { codeOf } from "../disk/disk.ts";
import { StoreError } from "../errors.ts";
import { agentsDir, holderFile, versionFile } from "../paths.ts";

/** The home, or a file in it that every command needs, may not be read by us. */
export class UnreadableHome extends StoreError {
  override readonly name = "UnreadableHome";
}

/** Refuses a home that we may not read, and says whose it is. One that is not there yet is fine. */
export function requireReadableHome(root: string): void {
  for (const path of [versionFile(root), holderFile(root), agentsDir(root), join(root, ".env")]) {
    try {
      accessSync(path, constants.R_OK);
    } catch (error) {
      if (!["EACCES", "EPERM"].includes(codeOf(error) ?? "")) continue;
      throw new UnreadableHome(
        `The home ${root} cannot be read: ${whose(path)}. Choose another with --home or AGIRAPH_HOME.`,
        { cause: error },
      );
    }
  }
}

/** In a folder that is closed to us nothing can be looked at: then it is the folder that counts. */
function whose(path: string): string {
  try {
    const { uid } = statSync(path);
    const owner = uid === 0 ? "root" : `another user (uid ${uid})`;
    return uid === process.getuid?.() ? `the mode of ${path} forbids it` : `${path} belongs to ${owner}`;
  } catch (error) {
    if (path === dirname(path)) throw error;
    return whose(dirname(path));
  }
}
