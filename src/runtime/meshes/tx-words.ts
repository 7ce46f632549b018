import { existsSync } from "node:fs";
import { join } from "node:path";

/** How to call `tx` from a shell: with the same Node, bundled or from source. */
export function txWords(): readonly string[] {
  const bundled = join(import.meta.dirname, "tx.js");
  return [process.execPath, existsSync(bundled) ? bundled : join(import.meta.dirname, "..", "..", "cli", "tx.ts")];
}
