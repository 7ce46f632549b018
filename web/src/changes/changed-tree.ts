import type { FileDiff } from "../live/repository-api.ts";
import { visible } from "../text/visible.ts";

export interface ChangedRow {
  /** Of a folder: its path with a slash. */
  path: string;
  name: string;
  depth: number;
  insertions: number;
  deletions: number;
  /** Null for a folder. */
  file: FileDiff | null;
}

interface ChangedFolder {
  path: string;
  name: string;
  folders: Map<string, ChangedFolder>;
  files: FileDiff[];
}

/** The changed files by folder, as rows: folders first, a folder with nothing but a folder on one row with it. */
export function treeRows(files: readonly FileDiff[], isClosed: (folder: string) => boolean): ChangedRow[] {
  const root: ChangedFolder = { path: "", name: "", folders: new Map(), files: [] };
  for (const file of files) folderFor(root, file.path).files.push(file);
  const rows: ChangedRow[] = [];
  pushRows(rows, root, 0, isClosed);
  return rows;
}

/** The order of the tree, which the diff has too. */
export function inTreeOrder(files: readonly FileDiff[]): FileDiff[] {
  return treeRows(files, () => false).flatMap(({ file }) => (file ? [file] : []));
}

function folderFor(root: ChangedFolder, path: string): ChangedFolder {
  let folder = root;
  for (const name of path.split("/").slice(0, -1)) {
    let below = folder.folders.get(name);
    if (!below) {
      below = { path: `${folder.path}${name}/`, name, folders: new Map(), files: [] };
      folder.folders.set(name, below);
    }
    folder = below;
  }
  return folder;
}

const byName = new Intl.Collator("en", { numeric: true }).compare;

function pushRows(
  rows: ChangedRow[],
  folder: ChangedFolder,
  depth: number,
  isClosed: (folder: string) => boolean,
): void {
  for (const each of [...folder.folders.values()].sort((a, b) => byName(a.name, b.name))) {
    const { last, name } = alone(each);
    const row: ChangedRow = { path: last.path, name, depth, ...totalOf(last), file: null };
    rows.push(row);
    if (!isClosed(last.path)) pushRows(rows, last, depth + 1, isClosed);
  }
  const files = folder.files.map((file) => ({ file, name: file.path.slice(file.path.lastIndexOf("/") + 1) }));
  for (const { file, name } of files.sort((a, b) => byName(a.name, b.name))) {
    const { path, insertions, deletions } = file;
    rows.push({ path, name: visible(name), depth, insertions, deletions, file });
  }
}

function alone(folder: ChangedFolder): { last: ChangedFolder; name: string } {
  let last = folder;
  let name = visible(folder.name);
  for (;;) {
    const [below] = last.folders.values();
    if (!below || last.folders.size > 1 || last.files.length > 0) return { last, name };
    last = below;
    name += `/${visible(below.name)}`;
  }
}

function totalOf(folder: ChangedFolder): { insertions: number; deletions: number } {
  const total = { insertions: 0, deletions: 0 };
  const parts = [...folder.files, ...[...folder.folders.values()].map(totalOf)];
  for (const { insertions, deletions } of parts) {
    total.insertions += insertions;
    total.deletions += deletions;
  }
  return total;
}
