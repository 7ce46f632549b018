import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { replaceFile } from "../store/disk/atomic-file.ts";
import { bootId } from "../store/home/machine-file.ts";
import { GIVEN_BACK } from "./home-trees.ts";
import { fileStamp, type IndexedEntry, type IndexedFolder, indexedAt, pathsBelow } from "./tree-index.ts";

/** How the working copy of a tree was when this host gave it back. */
export interface GivenBack {
  epoch: number;
  index: IndexedFolder;
  /** The machine was not started anew since: what is on its disk is what was written there. */
  isSameBoot: boolean;
}

const MOST_ENTRIES = 20_000;
const MOST_BYTES = 1024 * 1024;
/** What people may write by hand although nobody is at work. */
const BY_HAND = ["GOAL.md", "SOUL.md", "MEMORY.md"];

/** Where it cannot be written the next opening compares everything. */
export function noteGivenBack(folder: string, epoch: number, index: IndexedFolder): void {
  const paths = pathsBelow(index, "");
  if (paths.length > MOST_ENTRIES) return;
  const entries = paths.flatMap((path) => {
    const entry = indexedAt(index, path)?.entry;
    if (!entry) return [];
    const { kind, mode, hash, target, stamp } = entry;
    return [{ path, kind, mode, hash, target, stamp, is_behind: entry.isBehind }];
  });
  try {
    mkdirSync(dirname(join(folder, GIVEN_BACK)), { recursive: true, mode: 0o700 });
    replaceFile(join(folder, GIVEN_BACK), JSON.stringify({ boot: bootId(), epoch, entries }));
  } catch {
    rmSync(join(folder, GIVEN_BACK), { force: true });
  }
}

/** Read once: from now on the working copy changes. */
export function takeGivenBack(folder: string): GivenBack | undefined {
  try {
    const { boot, epoch, entries } = noteSchema.parse(JSON.parse(readFileSync(join(folder, GIVEN_BACK), "utf8")));
    rmSync(join(folder, GIVEN_BACK));
    const index: IndexedFolder = new Map();
    for (const { path, is_behind: isBehind, ...entry } of entries) {
      const made: IndexedEntry = { ...entry, isBehind, readAt: undefined, below: new Map() };
      const at = indexedAt(index, path);
      at?.siblings.set(at.name, made);
    }
    return { epoch, index, isSameBoot: boot !== "" && boot === bootId() };
  } catch {
    rmSync(join(folder, GIVEN_BACK), { force: true });
    return undefined;
  }
}

/** Files for people that were written here since then. */
export function changedByHand(folder: string, { index }: GivenBack): HandWritten[] {
  return byHandIn(folder).flatMap((path) => {
    try {
      const stats = lstatSync(join(folder, path), { bigint: true });
      if (!stats.isFile() || stats.size > MOST_BYTES) return [];
      if (indexedAt(index, path)?.entry?.stamp === fileStamp(stats)) return [];
      return [{ path, bytes: readFileSync(join(folder, path)) }];
    } catch {
      return []; // it is not there, or is closed to us
    }
  });
}

function byHandIn(folder: string): string[] {
  try {
    const below = readdirSync(join(folder, "memory"), { recursive: true, encoding: "utf8" });
    return [...BY_HAND, ...below.map((name) => `memory/${name}`)];
  } catch {
    return [...BY_HAND];
  }
}

export interface HandWritten {
  path: string;
  bytes: Buffer;
}

const noteSchema = z.object({
  boot: z.string(),
  epoch: z.number(),
  entries: z.array(
    z.object({
      path: z.string(),
      kind: z.enum(["file", "folder", "link"]),
      mode: z.number(),
      hash: z.string().nullable(),
      target: z.string().nullable(),
      stamp: z.string(),
      is_behind: z.boolean(),
    }),
  ),
});
