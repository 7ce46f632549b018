import { lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";

/**
 * The parts of a scope's binds. A mount follows links, so only what no sandboxed command can replace is listed here,
 * and where something that must be covered is missing, the folder around it is not writable.
 */
export function runBinds(agentDir: string, runDir: string): { write: string[]; read: string[] } {
  const covered = ["nodes", "workers", "_messages"].map((name) => join(runDir, name));
  return covered.every(isFolder) ? { write: [runDir], read: [agentDir, ...covered] } : { write: [], read: [agentDir] };
}

export function workerBinds(workerDir: string): { write: string[]; read: string[] } {
  const record = ["conversation.jsonl", "history.json"].map((name) => join(workerDir, name));
  return record.every(isFile) ? { write: [workerDir], read: record } : { write: [], read: [workerDir] };
}

/**
 * `published/` of every node but one, whose whole folder is bound anyway. An empty one is none yet: the rename that
 * publishes takes its place, and a mount of what is gone by then would fail.
 */
export function publishedFolders(runDir: string, butOf: string): string[] {
  const nodes = join(runDir, "nodes");
  if (!isFolder(nodes)) return [];
  const names = readdirSync(nodes).filter((name) => name !== butOf);
  return names
    .map((name) => join(nodes, name, "published"))
    .filter((folder) => isFolder(folder) && readdirSync(folder).length > 0);
}

const MAX_FOLDERS = 2000;
const MAX_HIDDEN = 400;

/**
 * The user's folder without its dot names and without our home. What could not be looked through within the bounds is
 * hidden whole: a command sees less then, never more.
 */
export function projectBinds(project: string | null, home: string): { read: string[]; hide: string[] } {
  if (project === null || !statSync(project, { throwIfNoEntry: false })?.isDirectory()) return { read: [], hide: [] };
  const root = realpathSync(project);
  const ours = realpathSync(home);
  if (`${root}${sep}`.startsWith(`${ours}${sep}`)) return { read: [], hide: [] };
  const hide = new Set<string>();
  const queue = [root];
  // Dependencies come last: they are the first to be given up.
  const dependencies: string[] = [];
  for (let looked = 0; queue.length + dependencies.length > 0; looked++) {
    const folder = queue.shift() ?? dependencies.shift() ?? root;
    const children = looked < MAX_FOLDERS && hide.size < MAX_HIDDEN ? listable(folder) : undefined;
    if (!children) hide.add(coverOf(folder, root));
    for (const child of children ?? []) {
      const path = join(folder, child.name);
      if (child.name.startsWith(".") || path === ours) hide.add(path);
      else if (child.isDirectory()) (child.name === "node_modules" ? dependencies : queue).push(path);
    }
  }
  return { read: [root], hide: [...hide] };
}

/** So that few mounts hide much: the dependencies a folder is part of, else its topmost folder in the project. */
function coverOf(folder: string, root: string): string {
  const names = folder === root ? [] : folder.slice(root.length + 1).split(sep);
  const dependencies = names.indexOf("node_modules");
  return join(root, ...names.slice(0, dependencies >= 0 ? dependencies + 1 : 1));
}

function listable(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return undefined;
  }
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
