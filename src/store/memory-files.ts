import { join } from "node:path";
import type { RunId, WorkerId } from "../protocol/index.ts";
import { type AccessRow, AccessTable } from "./access.ts";
import { FileScope } from "./file-scope.ts";
import { agentMemoryIndex } from "./paths.ts";
import type { Scope } from "./scope.ts";
import { childrenOf, closeFolder, type Folder, glance, openFolder, WalkTrouble } from "./walk.ts";

/** The files of one memory: the agent's or a worker's. Nothing else can be reached through it. */
export interface MemoryFiles {
  /** The folder it lies in; the same for everyone who has this memory open. */
  readonly root: string;
  readonly scope: Scope;
  /** Where the search index may be kept; null where the memory is too small to need one on disk. */
  readonly indexFile: string | null;
  /** Every file there is, in the order of their names, with a stamp that changes when the file does. */
  list(): StampedFile[];
  /** A path of this memory as seen from the agent's home. */
  inHome(path: string): string;
}

export interface StampedFile {
  path: string;
  bytes: number;
  stamp: string;
  /** When it was last changed, in milliseconds. */
  changedAt: number;
}

/** `MEMORY.md` and everything in `memory/`, which plain paths begin at. */
export function agentMemoryFiles(agentDir: string): MemoryFiles {
  const hint = "Name a markdown file, e.g. MEMORY.md, knowledge/ai-chips.md or experiences/research.md.";
  const rows: AccessRow[] = ["MEMORY.md", "memory/**"].map((at) => ({ at, access: "write", why: "" }));
  const aliases = new Map([["MEMORY.md", ["MEMORY.md"]]]);
  return {
    root: join(agentDir, "memory"),
    scope: scopeOf(agentDir, ["memory"], rows, aliases, hint),
    indexFile: agentMemoryIndex(agentDir),
    list: () => [...stamped(agentDir, [], ["MEMORY.md"]), ...stamped(agentDir, ["memory"])],
    inHome: (path) => (path === "MEMORY.md" ? path : `memory/${path}`),
  };
}

/** A worker's own `memory.md` and `notebook.md`. */
export function workerMemoryFiles(agentDir: string, run: RunId, worker: WorkerId): MemoryFiles {
  const names = ["memory.md", "notebook.md"];
  const top = ["runs", run, "workers", worker];
  const rows: AccessRow[] = names.map((name) => ({ at: [...top, name].join("/"), access: "write", why: "" }));
  return {
    root: join(agentDir, ...top),
    scope: scopeOf(agentDir, top, rows, new Map(), `Yours are ${names.join(" and ")}.`),
    indexFile: null,
    list: () => stamped(agentDir, top, names),
    inHome: (path) => [...top, path].join("/"),
  };
}

function scopeOf(
  agentDir: string,
  top: readonly string[],
  rows: readonly AccessRow[],
  aliases: ReadonlyMap<string, readonly string[]>,
  hint: string,
): Scope {
  const cwd = join(agentDir, ...top);
  return new FileScope({
    agentDir,
    project: null,
    top,
    aliases,
    cwd,
    table: new AccessTable([...rows, { at: "**", access: "none", why: hint }]),
    mayWrite: () => "",
    describe: () => hint,
    binds: () => ({ write: [], read: [], hide: [], cwd }),
  });
}

export const MOST_MEMORY_FILES = 50_000;
const DEEPEST = 8;

/** Folder by folder, following no link; a folder that is missing or closed to us holds nothing. */
function stamped(root: string, parts: readonly string[], only?: readonly string[]): StampedFile[] {
  const found: StampedFile[] = [];
  const queue: (readonly string[])[] = [[]];
  for (let below = queue.shift(); below && found.length < MOST_MEMORY_FILES; below = queue.shift()) {
    const folder = openIfThere(root, [...parts, ...below]);
    if (!folder) continue;
    try {
      const names = only ?? childrenOf(folder, MOST_MEMORY_FILES).children.map((child) => child.name);
      for (const name of names.filter((each) => !each.startsWith("."))) {
        const stats = glance(folder, name);
        if (stats?.isDirectory() && !only && below.length < DEEPEST) queue.push([...below, name]);
        if (!stats?.isFile() || !name.endsWith(".md")) continue;
        const stamp = [stats.size, stats.mtimeNs, stats.ctimeNs, stats.ino].join("-");
        found.push({
          path: [...below, name].join("/"),
          bytes: Number(stats.size),
          stamp,
          changedAt: Number(stats.mtimeMs),
        });
      }
    } finally {
      closeFolder(folder);
    }
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function openIfThere(root: string, parts: readonly string[]): Folder | undefined {
  try {
    return openFolder(root, parts);
  } catch (error) {
    if (error instanceof WalkTrouble) return undefined;
    throw error;
  }
}
