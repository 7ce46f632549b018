import { ALWAYS_SHOWN, type Memory, SHOWN_BYTES } from "./memory.ts";
import { SHOWN_AT_START } from "./recall.ts";

const DAY_MS = 86_400_000;
/** A daily log that was gone through says so, in a line of its own. */
const DISTILLED = /^distilled\b/im;
const MOST_AT_ONCE = 14;
/** From so many on, a run that begins for another reason is asked to see to them too. */
const WORTH_A_RUN = 3;

/**
 * What is to be gone through: daily logs that are no longer shown at the start of a run and whose lasting part was not
 * written down yet. Decided by code: where there is nothing, nobody is woken.
 */
export async function undistilled(memory: Memory, now: number): Promise<string[]> {
  const yesterday = new Date(now - DAY_MS).toISOString().slice(0, 10);
  const logs = await memory.dailyLogs();
  const old = logs.slice(SHOWN_AT_START).filter((path) => path.slice(0, 10) < yesterday);
  const left: string[] = [];
  for (const path of old.toReversed()) {
    if (!DISTILLED.test(await memory.readIfThere(path))) left.push(path);
    if (left.length === MOST_AT_ONCE) break;
  }
  return left;
}

/** What is to be done for a memory, in words; null where there is nothing. */
export async function upkeepOf(memory: Memory, now: number, leastLogs = 1): Promise<string | null> {
  const logs = await undistilled(memory, now);
  const tasks = [
    ...(logs.length >= leastLogs ? [distill(logs)] : []),
    ...((await memory.list()).some(({ path, bytes }) => path === ALWAYS_SHOWN && bytes > SHOWN_BYTES) ? [SHORTEN] : []),
  ];
  return tasks.length === 0 ? null : `Upkeep of your memory. ${tasks.join(" ")}`;
}

/** For a run that begins anyway: what of its memory an agent should see to by the way; empty where it is not worth it. */
export async function upkeepByTheWay(memory: Memory, now: number): Promise<string> {
  const task = await upkeepOf(memory, now, WORTH_A_RUN);
  return task === null ? "" : `## Before you finish\n\n${task}`;
}

function distill(logs: readonly string[]): string {
  return `Read these daily logs: ${logs.join(", ")} (memory_read). Write what still matters to MEMORY.md, knowledge/, experiences/ or preferences/; correct or remove there what is no longer true (memory_write with supersedes), and keep it short. Sort what is in experiences/learned.md, if there is such a file, into the files it belongs to. Then append a line "Distilled." to each of the logs (memory_write), so that you are not asked again.`;
}

const SHORTEN = `${ALWAYS_SHOWN} is longer than what is shown at the start of a run (${SHOWN_BYTES} bytes): read it, move what is not needed every time to knowledge/, experiences/ or preferences/, and replace it by something shorter.`;
