import type { FileItem } from "../live/api.ts";
import { visible } from "../text/visible.ts";

export interface Branch {
  name: string;
  path: string;
  bytes: number;
  /** Null for a file. */
  children: Branch[] | null;
}

/** A flat list of paths as a tree: folders first, then by name, numbers as numbers. */
export function treeOf(files: readonly FileItem[]): Branch[] {
  const root: Branch = { name: "", path: "", bytes: 0, children: [] };
  const folders = new Map<string, Branch>([["", root]]);
  const folderAt = (path: string): Branch => {
    const known = folders.get(path);
    if (known) return known;
    const made: Branch = { name: visible(nameIn(path)), path, bytes: 0, children: [] };
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

function sorted(branches: Branch[]): Branch[] {
  const rank = ({ children }: Branch) => (children ? 0 : 1);
  return branches
    .map((branch) => (branch.children ? { ...branch, children: sorted(branch.children) } : branch))
    .sort((a, b) => rank(a) - rank(b) || byName(a.name, b.name));
}

function parentOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
}

function nameIn(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
