import { z } from "zod";
import { allGone, type First } from "../sandbox/index.ts";
import { putFile, readPart } from "../store/foreign-folder.ts";

/**
 * Who was started last in a program's home, so that after a kill of ours nobody else begins there while it may still
 * live: two would work in one session. What is confined dies with us, but not in the same instant.
 *
 * It is kept where the program can write: who changes it has others wait for a process of its choice, a little while.
 */
export async function lastIsGone(home: string): Promise<void> {
  const bytes = await readPart(home, FILE, 0, 1024);
  const last = bytes && lifeSchema.safeParse(parsed(bytes.toString("utf8"))).data;
  if (!last || (await allGone(last, PATIENCE_MS))) return;
  throw new Error(
    `The program that worked here before has not ended yet (process ${last.pid}), so no other is started. End it, then resume.`,
  );
}

export async function keepLast(home: string, first: First | null | undefined): Promise<void> {
  if (first) await putFile(home, FILE, `${JSON.stringify(first)}\n`);
}

const FILE = ".agiraph/process.json";
const PATIENCE_MS = 10_000;
const lifeSchema = z.object({ pid: z.int().positive(), since: z.string() });

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
