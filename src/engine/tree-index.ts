import { type BigIntStats, lstatSync } from "node:fs";
import { join } from "node:path";
import type { ExportedEntry } from "./export-tree.ts";
import type { EngineEntry } from "./record-tree.ts";

/** What the engine has of a file, folder or link, and how it looked here when that was so. */
export interface IndexedEntry extends EngineEntry {
  /** Of the file whose content this is: differs once the file was changed. Empty where none was put. */
  stamp: string;
  /** When its content was read; undefined once it is certain that no later change has the same stamp. */
  readAt: number | undefined;
  /** Of a folder. */
  below: Map<string, IndexedEntry>;
}

export type IndexedFolder = Map<string, IndexedEntry>;

/** The entry at a path, and the folder it is in; undefined where the index has no such folder. */
export function indexedAt(
  root: IndexedFolder,
  path: string,
): { siblings: IndexedFolder; name: string; entry: IndexedEntry | undefined } | undefined {
  const parts = path.split("/");
  const name = parts.pop() ?? "";
  let siblings = root;
  for (const part of parts) {
    const folder = siblings.get(part);
    if (folder?.kind !== "folder") return undefined;
    siblings = folder.below;
  }
  return { siblings, name, entry: siblings.get(name) };
}

/** Of a working copy that was just brought to what the engine has, and in which nobody works yet. */
export function indexOf(folder: string, entries: readonly ExportedEntry[]): IndexedFolder {
  const root: IndexedFolder = new Map();
  for (const { path, kind, mode, hash, target, is_behind: isBehind } of entries) {
    const parts = path.split("/");
    const name = parts.pop() ?? "";
    let siblings = root;
    for (const part of parts) siblings = folderIn(siblings, part);
    const stamp = kind === "folder" ? "" : stampAt(join(folder, path));
    siblings.set(name, { kind, mode, hash, target, isBehind, stamp, readAt: undefined, below: new Map() });
  }
  return root;
}

/** Empty where there is nothing, or it is closed to us. */
function stampAt(path: string): string {
  try {
    return fileStamp(lstatSync(path, { bigint: true }));
  } catch {
    return "";
  }
}

/** A folder that the engine names only as the way to others has no mode there. */
function folderIn(siblings: IndexedFolder, name: string): IndexedFolder {
  const known = siblings.get(name);
  if (known) return known.below;
  const made: IndexedEntry = {
    ...{ kind: "folder", mode: -1, hash: null, target: null, isBehind: false, stamp: "", readAt: undefined },
    below: new Map(),
  };
  siblings.set(name, made);
  return made.below;
}

/** Differs once a file was changed, as far as its system tells. */
export function fileStamp({ size, mtimeNs, ctimeNs, ino, mode }: BigIntStats): string {
  return `${size}-${mtimeNs}-${ctimeNs}-${ino}-${mode}`;
}

/** All paths below a folder, itself not among them. */
export function pathsBelow(folder: IndexedFolder, path: string): string[] {
  return [...folder].flatMap(([name, entry]) => {
    const full = path === "" ? name : `${path}/${name}`;
    return [full, ...pathsBelow(entry.below, full)];
  });
}
