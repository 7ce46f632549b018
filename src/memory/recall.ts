import { ScopeRefusal } from "../store/scope/scope-refusal.ts";
import { differences, lastingStatements } from "./contradictions.ts";
import { listingBut } from "./listing.ts";
import { ALWAYS_SHOWN, type Memory, SHOWN_BYTES } from "./memory.ts";

const BYTES_PER_TOKEN = 4;
/** How many daily logs are shown, the newest ones. */
export const SHOWN_AT_START = 2;
/** What of the budget each part may take; what one leaves over is the next one's. */
const OF_PREFERENCES = 0.2;
const OF_MEMORY = 0.5;
const OF_INDEX = 0.5;
const OF_SHARED_INDEX = 0.2;
const SHARED_INDEX = "person/index.md";
const PREFERENCES = /^(?:person\/)?preferences\//;

/**
 * What an agent knows when a run begins (seed 002 §7.2): its human's preferences (those that all agents share first),
 * MEMORY.md, index.md and its last two daily logs, within a budget. What did not fit is named, so that it can be looked
 * up.
 */
export async function recall(memory: Memory, tokens: number, inLog: InLog = (entries) => entries): Promise<string> {
  const parts = await recalledParts(memory, tokens, inLog);
  return parts.map(({ path, text }) => `## ${path}\n\n${text}`).join("\n\n");
}

/** Of the entries of a daily log, each with its time as heading, those that its reader is to be shown. */
export type InLog = (entries: readonly string[]) => readonly string[];

/** The same, file by file. */
export async function recalledParts(
  memory: Memory,
  tokens: number,
  inLog: InLog = (entries) => entries,
): Promise<{ path: string; text: string }[]> {
  await memory.refreshIndex().catch(refusalAsText);
  const [newest, before, ...older] = await memory.dailyLogs();
  let room = tokens * BYTES_PER_TOKEN;
  const parts: { path: string; text: string }[] = [];
  const add = async (
    path: string | undefined,
    bytes: () => number,
    keep: KeptPart,
    shown: (whole: string) => string = (whole) => whole,
  ) => {
    const text = path === undefined ? "" : shown((await memory.readIfThere(path).catch(refusalAsText)).trim());
    if (path === undefined || text === "") return 0;
    const part = cut(text, path, Math.floor(Math.min(room, bytes())), keep);
    room -= Buffer.byteLength(part);
    parts.push({ path, text: part });
    return Buffer.byteLength(part);
  };
  let forPreferences = room * OF_PREFERENCES;
  for (const path of await preferenceFiles(memory))
    forPreferences -= await add(path, () => forPreferences, "both ends");
  const contradictions = await differences(await lastingStatements(memory, PREFERENCES), () => true);
  if (contradictions.length > 0)
    parts.push({
      path: "preferences/",
      text: `${contradictions.join("\n")} Ask your human, or supersede the wrong one.`,
    });
  await add(ALWAYS_SHOWN, () => Math.min(SHOWN_BYTES, room * OF_MEMORY), "both ends");
  const isEmpty = (await memory.files.list()).every(({ path, bytes }) => path === "index.md" || bytes === 0);
  const isShown = (path: string | null) =>
    path === null ? older.length === 0 : parts.some((part) => part.path === path);
  const others = (index: string) => listingBut(isShown, index);
  if (!isEmpty) await add("index.md", () => room * OF_INDEX, "beginning", others);
  const shared = (index: string) => listingBut((path) => path !== null && isShown(`person/${path}`), index);
  if (memory.isShared(SHARED_INDEX)) await add(SHARED_INDEX, () => room * OF_SHARED_INDEX, "beginning", shared);
  const entries = (log: string) => inLog(entriesOf(log)).join("\n\n");
  await add(newest, () => room * (before ? 0.6 : 1), "end", entries);
  await add(before, () => room, "end", entries);
  return parts;
}

/** Each begins with its time; what somebody wrote below one belongs to it. */
function entriesOf(log: string): string[] {
  return log.split(/\n+(?=## \d\d:\d\d\n)/);
}

type KeptPart = "beginning" | "end" | "both ends";

/** What is shared, then the agent's own, the last changed first: where there is room for some only, those are it. */
async function preferenceFiles(memory: Memory): Promise<string[]> {
  const files = (await memory.list()).filter(({ path, bytes }) => PREFERENCES.test(path) && bytes > 0);
  const own = ({ path }: { path: string }) => Number(!memory.isShared(path));
  return files.sort((a, b) => own(a) - own(b) || b.changedAt - a.changedAt).map(({ path }) => path);
}

/** A link in the place of a file, a backup by hard links: the run begins all the same, and says so. */
function refusalAsText(error: unknown): string {
  if (error instanceof ScopeRefusal) return `(${error.message})`;
  throw error;
}

/** At the nearest line; the end of a file is its newer part. */
function cut(text: string, path: string, bytes: number, keep: KeptPart): string {
  const whole = Buffer.from(text);
  if (whole.length <= bytes) return text;
  const size = Math.max(0, keep === "both ends" ? bytes / 2 : bytes);
  const beginning = keep === "end" ? "" : linesWithin(whole.subarray(0, size).toString("utf8"), "beginning");
  const end = keep === "beginning" ? "" : linesWithin(whole.subarray(whole.length - size).toString("utf8"), "end");
  const left = whole.length - Buffer.byteLength(beginning) - Buffer.byteLength(end);
  const note = `(${left} of ${whole.length} bytes of ${path} are left out here. Read them with memory_read, or look with memory_search.)`;
  return [beginning, note, end].filter(Boolean).join("\n\n");
}

/** Whole lines only: the one that was cut is left out. */
function linesWithin(text: string, keep: "beginning" | "end"): string {
  const seam = keep === "beginning" ? text.lastIndexOf("\n") : text.indexOf("\n");
  if (seam < 0) return "";
  return keep === "beginning" ? text.slice(0, seam).trimEnd() : text.slice(seam + 1).trimStart();
}
