import { ScopeRefusal } from "../store/scope-refusal.ts";
import type { Memory } from "./memory.ts";

const BYTES_PER_TOKEN = 4;
/** So many daily logs, the newest. */
export const SHOWN_AT_START = 2;
/** What of the budget each part may take; what one leaves over is the next one's. */
const OF_MEMORY = 0.5;
const OF_INDEX = 0.5;

/**
 * What an agent knows when a run begins (seed 002 §7.2): MEMORY.md, index.md and its last two daily logs, within a budget.
 * What had no room is named, so that it can be looked up.
 */
export async function recall(memory: Memory, tokens: number): Promise<string> {
  await memory.refreshIndex().catch(refusalAsText);
  const [newest, before] = (await memory.dailyLogs()).slice(0, SHOWN_AT_START);
  let room = tokens * BYTES_PER_TOKEN;
  const parts: string[] = [];
  const add = async (path: string | undefined, share: number, keep: "beginning" | "end") => {
    const text = path === undefined ? "" : (await memory.readIfThere(path).catch(refusalAsText)).trim();
    if (path === undefined || text === "") return;
    const part = cut(text, path, Math.floor(room * share), keep);
    room -= Buffer.byteLength(part);
    parts.push(`## ${path}\n\n${part}`);
  };
  await add("MEMORY.md", OF_MEMORY, "beginning");
  const isEmpty = (await memory.list()).every(({ path, bytes }) => path === "index.md" || bytes === 0);
  if (!isEmpty) await add("index.md", OF_INDEX, "beginning");
  await add(newest, before ? 0.6 : 1, "end");
  await add(before, 1, "end");
  return parts.join("\n\n");
}

/** A link in the place of a file, a backup by hard links: the run begins all the same, and says so. */
function refusalAsText(error: unknown): string {
  if (error instanceof ScopeRefusal) return `(${error.message})`;
  throw error;
}

/** At the nearest line; of a log the end is the newer part. */
function cut(text: string, path: string, bytes: number, keep: "beginning" | "end"): string {
  const whole = Buffer.from(text);
  if (whole.length <= bytes) return text;
  const size = Math.max(0, bytes);
  const kept = (keep === "beginning" ? whole.subarray(0, size) : whole.subarray(whole.length - size)).toString("utf8");
  const seam = keep === "beginning" ? kept.lastIndexOf("\n") : kept.indexOf("\n");
  const part = seam < 0 ? "" : keep === "beginning" ? kept.slice(0, seam).trimEnd() : kept.slice(seam + 1).trimStart();
  const note = `(${whole.length - Buffer.byteLength(part)} of ${whole.length} bytes of ${path} are left out here. Read them with memory_read, or look with memory_search.)`;
  return keep === "beginning" ? `${part}\n\n${note}`.trim() : `${note}\n\n${part}`.trim();
}
