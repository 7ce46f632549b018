import type { BigIntStats } from "node:fs";
import { childrenOf, closeFolder, type Folder, glance, WalkError } from "../disk/folder.ts";
import { removeIn } from "../disk/folder-changes.ts";
import { openFolder } from "../disk/walk.ts";
import { UNFINISHED } from "../disk/whole-file.ts";
import { ScopeRefusal } from "../scope/scope-refusal.ts";
import { ownNames, parsePath } from "../scope/written-path.ts";

/** The files through which we talk to a program that knows nothing about us, in its working folder. */
export const PROTOCOL_FILES: readonly string[] = [
  "_task.md",
  "_context.json",
  "_inbox.md",
  "_outbox.md",
  "_result.md",
  "_checkpoint.md",
];

export const MAX_PUBLISHED_FILES = 2000;
/** Of all files together, by their length: others hash and read a sparse file at its full length. */
export const MAX_PUBLISHED_BYTES = 4 * 2 ** 30;
const MAX_DEPTH = 32;
const MOST_PROBLEMS = 5;

export interface ScratchSurvey {
  /** Parents before their children. */
  folders: { parts: string[]; files: string[] }[];
  /** Folders that were found, also those that were not looked into any more. */
  found: number;
  count: number;
  bytes: number;
  largest: { path: string; bytes: number } | undefined;
  problems: string[];
  /** Those that are there, if this folder is used to speak by files; the names alone may be anybody's. */
  protocol: string[];
}

/** What is in `scratch/`. Read-only; files that a crashed write left behind are not counted. */
export function survey(dir: string, most = MAX_PUBLISHED_FILES): ScratchSurvey {
  const found: ScratchSurvey = {
    folders: [],
    found: 0,
    count: 0,
    bytes: 0,
    largest: undefined,
    problems: [],
    protocol: protocolIn(dir),
  };
  const queue: string[][] = [[]];
  for (let parts = queue.shift(); parts && !isTooMuch(found, most); parts = queue.shift()) {
    try {
      const open = openFolder(dir, ["scratch", ...parts]);
      try {
        queue.push(...surveyFolder(open, parts, found));
      } finally {
        closeFolder(open);
      }
    } catch (error) {
      if (parts.length === 0 || !(error instanceof WalkError)) throw error;
      found.problems.push(walkErrorWords(`scratch/${parts.join("/")}`, error, "u+rx"));
    }
  }
  return found;
}

/** Folders and problems are bounded like files: a tree of a million of them must not hold everybody up. */
function isTooMuch({ count, found, problems }: ScratchSurvey, most = MAX_PUBLISHED_FILES): boolean {
  return Math.max(count, found, problems.length) > most;
}

/** Adds what is in one folder; returns the folders in it. */
function surveyFolder(open: Folder, parts: readonly string[], found: ScratchSurvey): string[][] {
  const files: string[] = [];
  const below: string[][] = [];
  for (const { name } of childrenOf(open, MAX_PUBLISHED_FILES + 1).children) {
    if (parts.length === 0 && found.protocol.includes(name)) continue;
    const stats = glance(open, name);
    const path = [...parts, name];
    if (stats?.isFile() && name.startsWith(UNFINISHED)) {
      removeIn(open, name);
      continue;
    }
    const problem = problemWith(path, stats);
    if (problem !== undefined) found.problems.push(problem);
    else if (stats?.isDirectory()) below.push(path);
    else if (stats) {
      files.push(name);
      const bytes = Number(stats.size);
      found.bytes += bytes;
      if (bytes > (found.largest?.bytes ?? -1)) found.largest = { path: path.join("/"), bytes };
    }
  }
  found.count += files.length;
  found.found += below.length;
  found.folders.push({ parts: [...parts], files });
  return below;
}

function protocolIn(dir: string): string[] {
  const scratch = openFolder(dir, ["scratch"]);
  try {
    const isUsed = glance(scratch, "_task.md") && glance(scratch, "_context.json");
    return isUsed ? PROTOCOL_FILES.filter((name) => glance(scratch, name)) : [];
  } finally {
    closeFolder(scratch);
  }
}

function problemWith(parts: readonly string[], stats: BigIntStats | undefined): string | undefined {
  const path = `scratch/${parts.join("/")}`;
  // Node decodes what is not UTF-8 with this character; the name it gives then leads nowhere.
  if (path.includes("\uFFFD")) return `${JSON.stringify(path)} has a name that is not valid UTF-8: rename it`;
  if (!stats) return undefined; // removed since the folder was listed
  if (stats.isSymbolicLink()) return `${path} is a symbolic link: put a copy of the file in its place, or remove it`;
  if (!stats.isFile() && !stats.isDirectory())
    return `${path} is not a regular file (a pipe, a socket or a device): remove it`;
  if (stats.isDirectory() && parts.length > MAX_DEPTH)
    return `${path} lies deeper than ${MAX_DEPTH} folders: move it up`;
  if (!isReadableName(path)) return `${JSON.stringify(path)} has a name others could not read it by: rename it`;
  return stats.isFile() && isClosedToUs(stats) ? unreadable(path, "u+r") : undefined;
}

/** Known from its mode alone; whatever else forbids reading shows when it is copied. */
function isClosedToUs({ uid, mode }: BigIntStats): boolean {
  const own = process.geteuid?.();
  return own !== undefined && own !== 0 && uid === BigInt(own) && (mode & 0o400n) === 0n;
}

function unreadable(path: string, mode: string): string {
  return `${path} cannot be read, its permissions forbid it: chmod ${mode} it, or remove it`;
}

/** What went wrong at a path, as a sentence for the worker. */
export function walkErrorWords(path: string, { kind }: WalkError, mode: "u+r" | "u+rx"): string {
  if (kind === "denied") return unreadable(path, mode);
  return `${path} was changed while it was being published: publish when nothing writes to scratch/ any more`;
}

/** Would `readFile` take this path as it is? */
function isReadableName(path: string): boolean {
  try {
    return ownNames(parsePath(`nodes/node-000000/${path}`)).join("/") === `nodes/node-000000/${path}`;
  } catch (error) {
    if (error instanceof ScopeRefusal) return false;
    throw error;
  }
}

/** Why this cannot be published, in words for the worker; or undefined. */
export function reasonAgainst(found: ScratchSurvey, deliverables: readonly string[]): string | undefined {
  const { folders, count, bytes, largest, problems } = found;
  if (isTooMuch(found)) {
    return `scratch/ holds more than ${MAX_PUBLISHED_FILES} files or folders. Remove what can be made again (dependencies, build output, caches), or pack it.`;
  }
  if (bytes > MAX_PUBLISHED_BYTES && largest) return tooLarge(bytes, largest);
  if (problems.length > 0) {
    const rest = problems.length > MOST_PROBLEMS ? `; and ${problems.length - MOST_PROBLEMS} more` : "";
    return `${problems.slice(0, MOST_PROBLEMS).join("; ")}${rest}.`;
  }
  if (count === 0) return "scratch/ is empty. Write your results there first, e.g. scratch/report.md.";
  const there = new Set(folders.flatMap(({ parts, files }) => files.map((name) => [...parts, name].join("/"))));
  const missing = deliverables.filter((wanted) => !isThere(wanted, there));
  if (missing.length === 0) return undefined;
  const has = [...there].sort().slice(0, 10).join(", ");
  return `the spec asks for ${missing.map((path) => `scratch/${inScratch(path)}`).join(", ")}, which ${missing.length > 1 ? "are" : "is"} not there. scratch/ has: ${has}.`;
}

function tooLarge(bytes: number, largest: { path: string; bytes: number }): string {
  return `scratch/ holds ${inUnits(bytes)}, and at most ${MAX_PUBLISHED_BYTES / 2 ** 30} GiB can be published. The largest is scratch/${largest.path} (${inUnits(largest.bytes)}): remove what can be made again, or keep only the part that others need.`;
}

function inUnits(bytes: number): string {
  return bytes >= 2 ** 40 ? `${(bytes / 2 ** 40).toFixed(1)} TiB` : `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}

function isThere(wanted: string, files: ReadonlySet<string>): boolean {
  const path = inScratch(wanted);
  return files.has(path) || [...files].some((file) => file.startsWith(`${path}/`));
}

/** People and models name a deliverable by where it will be as readily as by where it is. */
function inScratch(path: string): string {
  return path
    .normalize("NFC")
    .replace(/^(\.\/)+/, "")
    .replace(/^(scratch|published)\//, "")
    .replace(/\/+$/, "");
}
