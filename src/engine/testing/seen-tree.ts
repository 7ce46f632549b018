import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";

/** Everything in a folder: what it is, its mode, its bytes. By paths, without those that are left out. */
export function seenTree(root: string, leftOut: readonly string[] = []): Record<string, string> {
  const found: Record<string, string> = {};
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  for (const entry of entries.toSorted((one, other) => (pathOf(one) < pathOf(other) ? -1 : 1))) {
    const full = pathOf(entry);
    const path = full.slice(root.length + 1);
    if (leftOut.some((each) => path === each || path.startsWith(`${each}/`))) continue;
    const mode = () => (statSync(full).mode & 0o7777).toString(8);
    if (entry.isSymbolicLink()) found[path] = `-> ${readlinkSync(full)}`;
    else if (entry.isDirectory()) found[path] = `folder ${mode()}`;
    else found[path] = `${mode()} ${readFileSync(full, "base64").slice(0, 200)} ${statSync(full).size}`;
  }
  return found;
}

function pathOf(entry: { parentPath: string; name: string }): string {
  return join(entry.parentPath, entry.name);
}
