import type { FileItem } from "../live/api.ts";
import { visible } from "../text/visible.ts";

export interface TreeEntry {
  name: string;
  path: string;
  bytes: number;
  /** Null for a file. */
  children: TreeEntry[] | null;
}

/** A flat list of paths as a tree: folders first, then by name, numbers as numbers. */
export function treeOf(files: readonly FileItem[]): TreeEntry[] {
  const root: TreeEntry = { name: "", path: "", bytes: 0, children: [] };
  const folders = new Map<string, TreeEntry>([["", root]]);
  const folderAt = (path: string): TreeEntry => {
    const known = folders.get(path);
    if (known) return known;
    const made: TreeEntry = { name: visible(nameIn(path)), path, bytes: 0, children: [] };
    folders.set(path, made);
    folderAt(parentOf(path)).children?.push(made);
    return made;
  };
  for (const { path, kind, bytes } of files) {
    if (kind === "folder") folderAt(path);
    else folderAt(parentOf(path)).children?.push({ name: visible(nameIn(path)), path, bytes, children: null });
  }
  return sorted(root.children ?? []);
}

const byName = new Intl.Collator(undefined, { numeric: true }).compare;

function sorted(branches: TreeEntry[]): TreeEntry[] {
  const rank = ({ children }: TreeEntry) => (children ? 0 : 1);
  return branches
    .map((entry) => (entry.children ? { ...entry, children: sorted(entry.children) } : entry))
    .sort((a, b) => rank(a) - rank(b) || byName(a.name, b.name));
}

function parentOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
}

function nameIn(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
