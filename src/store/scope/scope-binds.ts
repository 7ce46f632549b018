import { lstatSync, opendirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { TimeSlices } from "../disk/time-slices.ts";

/**
 * The parts of a scope's binds. A mount follows links, so only what no sandboxed command can replace is listed here. If
 * something that must be covered is missing, the folder around it is not writable.
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
 * `published/` of every node except one, whose whole folder is bound anyway. An empty one is skipped: the rename that
 * publishes replaces it, and mounting a folder that is gone would fail.
 */
export async function publishedFolders(runDir: string, butOf: string): Promise<string[]> {
  const nodes = join(runDir, "nodes");
  const names = await readdir(nodes).catch(() => []);
  const slices = new TimeSlices();
  const found: string[] = [];
  for (const name of names) {
    if (slices.isDue) await slices.rest();
    const folder = join(nodes, name, "published");
    if (name !== butOf && isFolder(folder) && !isEmpty(folder)) found.push(folder);
  }
  return found;
}

function isEmpty(folder: string): boolean {
  const listing = opendirSync(folder, { bufferSize: 1 });
  try {
    return listing.readSync() === null;
  } finally {
    listing.closeSync();
  }
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
