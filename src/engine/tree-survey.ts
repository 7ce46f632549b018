import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";

/** What is in a tree, by its path in it. */
export type MovedEntry =
  | { path: string; kind: "stream"; mode: number; size: number }
  | { path: string; kind: "file"; mode: number; size: number }
  | { path: string; kind: "folder"; mode: number }
  | { path: string; kind: "link"; mode: number; target: string };

export interface TreeSurvey {
  entries: MovedEntry[];
  /** Paths that do not move, with the reason. */
  left: { path: string; why: string }[];
}

export interface TreeRules {
  /** A file that only grows, by records of ours. */
  isStream(path: string): boolean;
  /** Why this does not move: it is made anew, or secret. Of a folder: nothing below it moves. */
  staysBehind(path: string): string | undefined;
  /** Of what stays behind: whether a working copy keeps it when it is brought to what the engine has. */
  isKept(path: string): boolean;
}

/** Everything in a folder that nobody else writes now. Links are named, never followed. */
export async function surveyTree(folder: string, rules: TreeRules): Promise<TreeSurvey> {
  const survey: TreeSurvey = { entries: [], left: [] };
  await look(folder, "", rules, survey);
  return survey;
}

async function look(folder: string, below: string, rules: TreeRules, survey: TreeSurvey): Promise<void> {
  const names = await readdir(Buffer.from(join(folder, below)), { encoding: "buffer" });
  for (const bytes of names.sort(Buffer.compare)) {
    const name = bytes.toString();
    const path = below === "" ? name : `${below}/${name}`;
    const why = Buffer.from(name).equals(bytes) ? rules.staysBehind(path) : "its name is not UTF-8";
    if (why !== undefined) survey.left.push({ path, why });
    else await take(folder, path, rules, survey);
  }
}

async function take(folder: string, path: string, rules: TreeRules, survey: TreeSurvey): Promise<void> {
  const full = join(folder, path);
  const found = await lstat(full);
  const mode = found.mode & 0o7777;
  if (found.isSymbolicLink()) {
    survey.entries.push({ path, kind: "link", mode, target: await readlink(full) });
  } else if (found.isDirectory()) {
    survey.entries.push({ path, kind: "folder", mode });
    await look(folder, path, rules, survey);
  } else if (found.isFile()) {
    survey.entries.push({ path, kind: rules.isStream(path) ? "stream" : "file", mode, size: found.size });
  } else {
    survey.left.push({ path, why: "it is neither a file nor a folder" });
  }
}

/** For reading. A link that has taken the file's name meanwhile is not followed. */
export function openToRead(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
}

/** Its bytes from `from` on, in parts of this size; the last may be shorter. Each is a buffer of its own. */
export async function* partsFrom(file: FileHandle, partBytes: number, from = 0): AsyncGenerator<Buffer> {
  for (let at = from; ; ) {
    const part = await readRange(file, at, partBytes);
    if (part.length > 0) yield part;
    if (part.length < partBytes) return;
    at += part.length;
  }
}

/** So many bytes, or fewer where the file ends. */
export async function readRange(file: FileHandle, at: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes);
  let filled = 0;
  while (filled < bytes) {
    const { bytesRead } = await file.read(buffer, filled, bytes - filled, at + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
