import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { allGone, type FirstProcess } from "../../sandbox/index.ts";

/**
 * The process that was last started in a program's home. After a kill of ours, no other one starts there while it may
 * still run: two would work in one session. Confined processes die with us, but not at the same instant.
 *
 * It is stored beside that home, where the program cannot write: otherwise the program could have a person told to end
 * a process of its choice.
 */
export async function lastIsGone(home: string): Promise<void> {
  const text = await readFile(noteOf(home), "utf8").catch(() => "");
  const last = lifeSchema.safeParse(parsed(text)).data;
  if (!last || (await allGone(last, PATIENCE_MS))) return;
  throw new Error(
    `The program that worked here before has not ended yet (process ${last.pid}), so no other is started. End it (kill ${last.pid}), then resume.`,
  );
}

export async function keepLast(home: string, first: FirstProcess | null | undefined): Promise<void> {
  if (!first) return;
  await mkdir(dirname(home), { recursive: true, mode: 0o700 });
  await writeFile(noteOf(home), `${JSON.stringify(first)}\n`, { mode: 0o600 });
}

const noteOf = (home: string): string => `${home}.process.json`;
const PATIENCE_MS = 10_000;
const lifeSchema = z.object({ pid: z.int().positive(), since: z.string() });

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
