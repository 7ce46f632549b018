import type { Memory } from "./memory.ts";

const DAY_MS = 86_400_000;
/** A daily log that was gone through says so, in a line of its own. */
const DISTILLED = /^distilled\b/im;
const MOST_AT_ONCE = 14;

/**
 * What is to be gone through: daily logs that are no longer shown at the start of a run and whose lasting part was not
 * written down yet. Decided by code: where there is nothing, nobody is woken.
 */
export async function undistilled(memory: Memory, now: number): Promise<string[]> {
  const yesterday = new Date(now - DAY_MS).toISOString().slice(0, 10);
  const old = memory.dailyLogs().filter((path) => path.slice(0, 10) < yesterday);
  const left: string[] = [];
  for (const path of old.toReversed()) {
    if (!DISTILLED.test(await memory.readIfThere(path))) left.push(path);
    if (left.length === MOST_AT_ONCE) break;
  }
  return left;
}

export function upkeepTask(logs: readonly string[]): string {
  return `Upkeep of your memory. Read these daily logs: ${logs.join(", ")} (memory_read). Write what still matters to MEMORY.md, knowledge/, experiences/ or preferences/; correct or remove there what is no longer true, and keep it short. Then append a line "Distilled." to each of the logs (memory_write), so that you are not asked again.`;
}
