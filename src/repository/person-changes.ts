import type { Mask } from "./person-objects.ts";

/** Paths are bytes in a string (latin1): a file's name need not be UTF-8. */
export interface Changes {
  changed: string[];
  /** Of the changed ones: those that are not there any more, also where something else is in the place of their folder. */
  gone: string[];
  untracked: string[];
  /** Changed or untracked, but what git would store is made by a filter of theirs (LFS), which we do not run. */
  filtered: string[];
  /** Untracked folders that are repositories of their own. */
  nested: string[];
}

export async function changesIn(mask: Mask, untracked: "normal" | "all"): Promise<Changes> {
  const { stdout } = await mask.run(
    ["status", "--porcelain=v2", "-z", `--untracked-files=${untracked}`, "--ignore-submodules=all", "--no-renames"],
    { seconds: 300, maxBytes: 512 * 1024 * 1024 },
  );
  const found: Changes = { changed: [], gone: [], untracked: [], filtered: [], nested: [] };
  for (const entry of stdout.toString("latin1").split("\0")) {
    if (entry.startsWith("? ") && entry.endsWith("/") && untracked === "all") found.nested.push(entry.slice(2, -1));
    else if (entry.startsWith("? ")) found.untracked.push(entry.slice(2));
    else if (/^[1u] /.test(entry)) {
      // The fields before the path differ in number; among them is the mode that the file has now.
      const [fields, mode] = entry.startsWith("1") ? [8, 5] : [10, 6];
      const path = afterFields(entry, fields);
      found.changed.push(path);
      if (entry.split(" ", mode + 1)[mode] === "000000") found.gone.push(path);
    }
  }
  const filtered = await filteredAmong(mask, [...found.changed, ...found.untracked]);
  found.filtered = [...filtered];
  found.changed = found.changed.filter((path) => !filtered.has(path));
  found.gone = found.gone.filter((path) => !filtered.has(path));
  found.untracked = found.untracked.filter((path) => !filtered.has(path));
  return found;
}

export function asText(path: string): string {
  return Buffer.from(path, "latin1").toString("utf8");
}

function afterFields(entry: string, fields: number): string {
  let at = 0;
  for (let count = 0; count < fields; count++) at = entry.indexOf(" ", at) + 1;
  return entry.slice(at);
}

async function filteredAmong(mask: Mask, paths: readonly string[]): Promise<Set<string>> {
  if (paths.length === 0) return new Set();
  const stdin = Buffer.from(`${paths.join("\0")}\0`, "latin1");
  const { stdout } = await mask.run(["check-attr", "-z", "--stdin", "filter"], { stdin, maxBytes: 512 * 1024 * 1024 });
  const fields = stdout.toString("latin1").split("\0");
  const filtered = new Set<string>();
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const value = fields[at + 2];
    if (value !== "unspecified" && value !== "unset") filtered.add(fields[at] ?? "");
  }
  return filtered;
}
