import { ScopeRefusal } from "../store/scope/scope-refusal.ts";
import { differences, lastingStatements } from "./contradictions.ts";
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
export async function recall(memory: Memory, tokens: number): Promise<string> {
  return (await recalledParts(memory, tokens)).map(({ path, text }) => `## ${path}\n\n${text}`).join("\n\n");
}

/** The same, file by file. */
export async function recalledParts(memory: Memory, tokens: number): Promise<{ path: string; text: string }[]> {
  await memory.refreshIndex().catch(refusalAsText);
  const [newest, before] = (await memory.dailyLogs()).slice(0, SHOWN_AT_START);
  let room = tokens * BYTES_PER_TOKEN;
  const parts: { path: string; text: string }[] = [];
  const add = async (path: string | undefined, bytes: () => number, keep: KeptPart) => {
    const text = path === undefined ? "" : (await memory.readIfThere(path).catch(refusalAsText)).trim();
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
  if (!isEmpty) await add("index.md", () => room * OF_INDEX, "beginning");
  if (memory.isShared(SHARED_INDEX)) await add(SHARED_INDEX, () => room * OF_SHARED_INDEX, "beginning");
  await add(newest, () => room * (before ? 0.6 : 1), "end");
  await add(before, () => room, "end");
  return parts;
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
