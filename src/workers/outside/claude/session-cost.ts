import { z } from "zod";
import { allFilesIn, readPart } from "../../../store/disk/foreign-folder.ts";

/**
 * What Claude Code will say a session has cost before it goes on with it, or null where that is not known. It notes its
 * total in the session's file when it exits, also on SIGTERM in the middle of a turn; when it is killed, what came after
 * the last note is missing from every later total. So its own note is the only base from which totals can be compared.
 */
export async function costBefore(home: string, session_id: string): Promise<number | null> {
  const { files } = await allFilesIn(home, SESSIONS.split("/"), { folders: 200, names: 5000, deepest: 2 });
  const file = files.find(({ path }) => path.endsWith(`/${session_id}.jsonl`));
  return file ? lastNote(home, `${SESSIONS}/${file.path}`) : null;
}

const SESSIONS = ".claude/projects";
const PART_BYTES = 1024 * 1024;
/** A line of more than this is not the one that is looked for. */
const LONGEST_LINE = 64 * 1024;

async function lastNote(home: string, path: string): Promise<number | null> {
  let cost: number | null = null;
  let rest = "";
  for (let from = 0; ; from += PART_BYTES) {
    const bytes = await readPart(home, path, from, PART_BYTES);
    if (!bytes || bytes.length === 0) return cost;
    const lines = `${rest}${bytes.toString("latin1")}`.split("\n");
    rest = (lines.pop() ?? "").slice(-LONGEST_LINE);
    for (const line of lines) cost = noteIn(line) ?? cost;
  }
}

const noteLine = z.object({ type: z.literal("cost-state"), totalCostUSD: z.number().nonnegative() });

function noteIn(line: string): number | undefined {
  if (!line.includes('"cost-state"')) return undefined;
  try {
    return noteLine.parse(JSON.parse(line)).totalCostUSD;
  } catch {
    return undefined;
  }
}
