import { lstatSync, opendirSync } from "node:fs";

/**
 * What a few small folders hold, as `du` would count it. Starting `du` twice costs more than looking at some hundred
 * names.
 *
 * SMALL-TREE-1. It looks at MOST_NAMES names and works for MOST_MS, at most. Undefined if there is more, or if anything
 *     cannot be looked at, by its name or at all: then nothing is known.
 * SMALL-TREE-2. Links are not followed, and a file with several names is counted once.
 */
export function smallTree(folders: readonly string[], without: readonly string[], mostMs = MOST_MS): Held | undefined {
  const until = performance.now() + mostMs;
  const left = new Set(without);
  const seen = new Set<string>();
  const queue: string[] = [...folders];
  let bytes = 0;
  try {
    for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
      if (left.has(path)) continue;
      const stats = lstatSync(path, { throwIfNoEntry: false });
      if (!stats && folders.includes(path)) return undefined;
      const inode = stats && `${stats.dev} ${stats.ino}`;
      if (!inode || seen.has(inode)) continue; // gone since it was listed, or known by another name
      seen.add(inode);
      bytes += stats.blocks * BLOCK;
      if (stats.isDirectory() && !addNames(path, queue)) return undefined;
      if (seen.size + queue.length > MOST_NAMES || performance.now() > until) return undefined;
    }
    return { bytes, files: seen.size };
  } catch {
    return undefined; // closed to us, or deeper than a path may be long
  }
}

export interface Held {
  bytes: number;
  files: number;
}

const MOST_NAMES = 256;
const MOST_MS = 5;
/** Of `st_blocks`, whatever the file system's own are. */
const BLOCK = 512;

/** False where there are too many, or one that Node cannot give back: it decodes what is not UTF-8 with U+FFFD. */
function addNames(folder: string, queue: string[]): boolean {
  const listing = opendirSync(folder);
  try {
    for (let child = listing.readSync(); child; child = listing.readSync()) {
      if (queue.length > MOST_NAMES || child.name.includes("\uFFFD")) return false;
      queue.push(`${folder}/${child.name}`);
    }
    return true;
  } finally {
    listing.closeSync();
  }
}
