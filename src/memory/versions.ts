import { createHash } from "node:crypto";
import type { MemoryFiles } from "../store/run/memory-files.ts";
import type { ListedFile } from "../store/scope/scope.ts";
import { FileNotFound } from "../store/scope/scope-refusal.ts";

const FOLDER = ".versions";
const MOST_BYTES = 8 * 1024 * 1024;

/**
 * What a memory file contained before it was rewritten. A version is kept whenever something is replaced or forgotten,
 * but not when something is added, because then the old text is still there.
 *
 * MEMORY-VERSION-1. A version is on disk before the file is changed.
 * MEMORY-VERSION-2. The name of a version is its time and the hash of its text: keeping the same text twice in the same
 *     millisecond keeps it once.
 */
export async function keepVersion(files: MemoryFiles, file: string, text: string, at: number): Promise<void> {
  const time = new Date(at).toISOString().replaceAll(/[:.]/g, "-");
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 8);
  await files.scope.writeFile(`${FOLDER}/${file}/${time}-${hash}.md`, text);
}

export interface Version {
  /** Its name in the folder of versions of the file. */
  name: string;
  /** When it was replaced. */
  replacedAt: string;
  bytes: number;
}

/** Newest first. */
export async function versionsOf(files: MemoryFiles, file: string): Promise<Version[]> {
  return (await listed(files, file))
    .flatMap((entry) => {
      const name = entry.path.split("/").at(-1) ?? "";
      const time = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3}Z)-[0-9a-f]{8}\.md$/.exec(name);
      if (!time) return [];
      const [, hour, minute, second, rest] = time;
      return { name, replacedAt: `${hour}:${minute}:${second}.${rest}`, bytes: entry.bytes };
    })
    .sort((a, b) => (a.name < b.name ? 1 : -1));
}

const MOST_LISTED = 10_000;

async function listed(files: MemoryFiles, file: string): Promise<readonly ListedFile[]> {
  try {
    return (await files.scope.list(`${FOLDER}/${file}`, { limit: MOST_LISTED })).entries;
  } catch (error) {
    if (error instanceof FileNotFound) return [];
    throw error;
  }
}

export async function readVersion(files: MemoryFiles, file: string, name: string): Promise<string> {
  const { bytes } = await files.scope.readFile(`${FOLDER}/${file}/${name}`, { maxBytes: MOST_BYTES });
  return bytes.toString("utf8");
}
