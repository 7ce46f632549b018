import { type BigIntStats, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { RunId, WorkerId } from "../../protocol/index.ts";
import { closeFolder, glance, WalkError } from "../disk/folder.ts";
import { FolderChain } from "../disk/folder-chain.ts";
import { walkTree } from "../disk/tree-walk.ts";
import { openFolder } from "../disk/walk.ts";
import { agentMemoryIndex } from "../paths.ts";
import { type AccessRow, AccessTable } from "../scope/access.ts";
import { FileScope } from "../scope/file-scope.ts";
import type { Scope } from "../scope/scope.ts";

/** The files of one memory: the agent's or a worker's. Nothing else can be reached through it. */
export interface MemoryFiles {
  /** The folder it lies in; the same for everyone who has this memory open. */
  readonly root: string;
  readonly scope: Scope;
  /** Where the search index may be kept; null where the memory is too small to need one on disk. */
  readonly indexFile: string | null;
  /** Every file there is, in the order of their names, with a stamp that changes when the file does. */
  list(): Promise<StampedFile[]>;
  /** A path of this memory as seen from the agent's folder. */
  inHome(path: string): string;
}

export interface StampedFile {
  path: string;
  bytes: number;
  stamp: string;
  /** When it was last changed, in milliseconds. */
  changedAt: number;
}

/** `MEMORY.md` and everything in `memory/`, to which plain paths are relative. */
export function agentMemoryFiles(agentDir: string): MemoryFiles {
  const hint = "Name a markdown file, e.g. MEMORY.md, knowledge/ai-chips.md or experiences/research.md.";
  const rows: AccessRow[] = ["MEMORY.md", "memory/**"].map((at) => ({ at, access: "write", why: "" }));
  const aliases = new Map([["MEMORY.md", ["MEMORY.md"]]]);
  return {
    root: join(agentDir, "memory"),
    scope: scopeOf(agentDir, ["memory"], rows, aliases, hint),
    indexFile: agentMemoryIndex(agentDir),
    list: async () => [...stampedIn(agentDir, [], ["MEMORY.md"]), ...(await stampedBelow(agentDir, ["memory"]))],
    inHome: (path) => (path === "MEMORY.md" ? path : `memory/${path}`),
  };
}

/** What all agents of a home know about their human: `memory/` in the home, which each of them calls `person/`. */
export function personMemoryFiles(home: string): MemoryFiles {
  const hint = "Name a markdown file, e.g. person/preferences/writing.md.";
  const root = join(home, "memory");
  const scope = scopeOf(home, ["memory"], [{ at: "memory/**", access: "write", why: "" }], new Map(), hint);
  const writeFile = scope.writeFile.bind(scope);
  scope.writeFile = async (path, content) => {
    // No agent makes it with its home: it is there from the first note on.
    mkdirSync(root, { recursive: true, mode: 0o700 });
    return writeFile(path, content);
  };
  return {
    root,
    scope,
    indexFile: join(home, ".index", "memory.sqlite"),
    list: () => stampedBelow(home, ["memory"]),
    inHome: (path) => `person/${path}`,
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
    list: async () => stampedIn(agentDir, top, names),
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
    binds: async () => ({ write: [], read: [], hide: [], cwd }),
  });
}

export const MOST_MEMORY_FILES = 50_000;
const MOST_FOLDERS = 5_000;
const DEEPEST = 8;

/** Those of these names that are there; a folder that is missing or closed to us holds nothing. */
function stampedIn(root: string, parts: readonly string[], names: readonly string[]): StampedFile[] {
  try {
    const folder = openFolder(root, parts);
    try {
      return names.flatMap((name) => stampOf(glance(folder, name), name) ?? []);
    } finally {
      closeFolder(folder);
    }
  } catch (error) {
    if (error instanceof WalkError) return [];
    throw error;
  }
}

/** Every markdown file of a folder and below it, following no link. Names that begin with a dot are passed over. */
async function stampedBelow(root: string, parts: readonly string[]): Promise<StampedFile[]> {
  const found: StampedFile[] = [];
  const bounds = {
    deepest: DEEPEST,
    folders: MOST_FOLDERS,
    names: 2 * MOST_MEMORY_FILES,
    namesInOne: MOST_MEMORY_FILES,
  };
  try {
    using chain = new FolderChain(root, parts);
    await walkTree(
      chain,
      async (folder, below, names, slices) => {
        const folders: string[] = [];
        for (const name of names) {
          if (name.startsWith(".")) continue;
          if (slices.isDue) await slices.rest();
          const stats = glance(folder, name);
          const file = stampOf(stats, [...below, name].join("/"));
          if (file && found.push(file) >= MOST_MEMORY_FILES) return "stop";
          if (stats?.isDirectory()) folders.push(name);
        }
        return folders;
      },
      bounds,
    );
  } catch (error) {
    if (!(error instanceof WalkError)) throw error;
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function stampOf(stats: BigIntStats | undefined, path: string): StampedFile | undefined {
  if (!stats?.isFile() || !path.endsWith(".md")) return undefined;
  const stamp = [stats.size, stats.mtimeNs, stats.ctimeNs, stats.ino].join("-");
  return { path, bytes: Number(stats.size), stamp, changedAt: Number(stats.mtimeMs) };
}
