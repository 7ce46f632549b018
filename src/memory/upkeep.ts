import { ALWAYS_SHOWN, type Memory, SHOWN_BYTES } from "./memory.ts";
import { SHOWN_AT_START } from "./recall.ts";

const DAY_MS = 86_400_000;
const MOST_AT_ONCE = 14;
/** From this many on, a run that begins for another reason is asked to do the upkeep as well. */
const WORTH_A_RUN = 3;
/** So much of the logs is shown with the question; what has no room there is asked for next time. */
const MOST_SHOWN = 16_000;

/**
 * What needs upkeep: daily logs that are no longer shown at the start of a run and whose lasting content has not been
 * extracted yet. Decided by code: if there is nothing, no model is woken.
 */
export async function undistilled(memory: Memory, now: number): Promise<string[]> {
  return (await undistilledLogs(memory, now)).map(({ path }) => path);
}

async function undistilledLogs(memory: Memory, now: number): Promise<{ path: string; text: string }[]> {
  const yesterday = memory.dayOf(now - DAY_MS);
  const paths = await memory.dailyLogs();
  const logs: { path: string; text: string }[] = [];
  for (const path of paths) logs.push({ path, text: await memory.readIfThere(path) });
  const done = new Set(logs.flatMap(({ path, text }) => distilledIn(text, path.slice(0, 10))));
  const old = logs.slice(SHOWN_AT_START).filter(({ path }) => path.slice(0, 10) < yesterday);
  return old
    .toReversed()
    .filter(({ path, text }) => !done.has(path.slice(0, 10)) && saysSomething(text))
    .slice(0, MOST_AT_ONCE);
}

/** More than that others were gone through: such a log would be asked about, and another made by the answer, for ever. */
function saysSomething(log: string): boolean {
  return log.replace(DISTILLED, "").replace(/^#.*$/gm, "").trim() !== "";
}

const DISTILLED = /^distilled\b.*$/gim;

/** Days that a log says were gone through: those that such a line names ("Distilled: 2026-11-01, 2026-11-02"), else its own. */
function distilledIn(log: string, own: string): string[] {
  return [...log.matchAll(DISTILLED)].flatMap(([line]) => line.match(/\d{4}-\d{2}-\d{2}/g) ?? [own]);
}

/** The upkeep that a memory needs, in words; null if it needs none. */
export async function upkeepOf(memory: Memory, now: number, leastLogs = 1): Promise<string | null> {
  const logs = await undistilledLogs(memory, now);
  const bytes = (await memory.list()).find(({ path }) => path === ALWAYS_SHOWN)?.bytes ?? 0;
  const tasks = [
    ...(bytes > SHOWN_BYTES ? [shorten(bytes)] : []),
    ...(logs.length >= leastLogs && logs.length > 0 ? [distill(logs)] : []),
  ];
  return tasks.length === 0 ? null : `Upkeep of your memory. ${tasks.join(" ")}`;
}

/** For a run that begins anyway: the upkeep that the agent should do along the way; empty if it is not worth it. */
export async function upkeepByTheWay(memory: Memory, now: number): Promise<string> {
  const task = await upkeepOf(memory, now, WORTH_A_RUN);
  return task === null ? "" : `## Before you finish\n\n${task}`;
}

/**
 * The logs themselves are in the question, and one line answers for all of them: in the last of them, since a log that
 * holds nothing else would take the place of one that is worth showing.
 */
function distill(logs: readonly { path: string; text: string }[]): string {
  let room = MOST_SHOWN;
  const shown = logs.filter(({ text }, at) => {
    room -= text.length;
    return at === 0 || room >= 0;
  });
  const texts = shown.map(({ path, text }) =>
    text.length > MOST_SHOWN
      ? `### ${path}\n\n${text.slice(0, MOST_SHOWN).toWellFormed()}\n(It goes on: memory_read.)`
      : `### ${path}\n\n${text.trim()}`,
  );
  const days = shown.map(({ path }) => path.slice(0, 10)).join(", ");
  const last = shown.at(-1)?.path;
  return `Below are daily logs that you no longer see otherwise. Write what still matters in them to MEMORY.md, knowledge/, experiences/ or preferences/; correct or remove there what is no longer true (memory_write with supersedes), and sort experiences/learned.md, if there is one, into the files it belongs to. Then append this line to ${last}, so that you are not asked again: "Distilled: ${days}"\n\n${texts.join("\n\n")}`;
}

function shorten(bytes: number): string {
  return `${ALWAYS_SHOWN} has ${bytes} bytes; ${SHOWN_BYTES} are shown when a run begins. Read it, move what is not needed every time to knowledge/, experiences/ or preferences/, and replace it (mode replace) by at most ${SHOWN_BYTES} bytes; what it says now is kept as a version.`;
}
