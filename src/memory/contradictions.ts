import { TimeSlices } from "../store/disk/time-slices.ts";
import { LikeStatements } from "./like-statements.ts";
import { type Memory, noteNameOf } from "./memory.ts";
import { type FoundSection, textOfNote } from "./search.ts";
import { placeWords, quoted, type Statement, statementsOf } from "./statements.ts";

/** What holds until somebody says otherwise; logs and experiences record what was once true. */
const LASTING = /^(?:MEMORY\.md$|preferences\/|knowledge\/|person\/(?!index\.md$))/;
/** So much is looked through at a write, the last changed first. */
const MOST_FILES = 100;
const MOST_BYTES = 1024 * 1024;
const MOST_NAMED = 3;
/** So many pairs that have a rare word in common: less than half a second, and more than any memory of notes has. */
const MOST_COMPARED = 300_000;

/** Notes of other runs and agents that look like a different answer to the same question, newest first. */
export async function contradicted(memory: Memory, path: string, content: string, by: string): Promise<Statement[]> {
  if (!LASTING.test(noteNameOf(path))) return [];
  const slices = new TimeSlices();
  const news = [...statementsOf(path, content)];
  const like = await LikeStatements.of(news, slices);
  const said = new Set(news.map(({ text }) => text));
  const found: Statement[] = [];
  for (const each of await lastingStatements(memory)) {
    if (slices.isDue) await slices.rest();
    if (each.by?.split(",")[0] === by || said.has(each.text)) continue;
    if (like.differing(each).length > 0) found.push(each);
    if (like.compared > MOST_COMPARED) break;
  }
  return found.sort(newerFirst).slice(0, MOST_NAMED);
}

export function contradictionWords(others: readonly Statement[]): string {
  if (others.length === 0) return "";
  const lines = others.map((each) => `- ${placeWords(each)}: ${quoted(each.text)}`);
  return `\nOther notes seem to say something else. Use supersedes for what is no longer true:\n${lines.join("\n")}`;
}

/** All lasting notes, within the limit of what is searched. */
export async function lastingStatements(memory: Memory, which: RegExp = LASTING): Promise<Statement[]> {
  const files = (await memory.list()).filter(({ path, bytes }) => which.test(path) && bytes > 0);
  const slices = new TimeSlices();
  let room = MOST_BYTES;
  const statements: Statement[] = [];
  for (const file of files.sort((a, b) => b.changedAt - a.changedAt).slice(0, MOST_FILES)) {
    room -= file.bytes;
    if (room < 0) break;
    const day = memory.dayOf(file.changedAt);
    for (const each of statementsOf(file.path, (await textOfNote(memory.searchable, file.path)) ?? "")) {
      statements.push({ day, ...each });
      if (slices.isDue) await slices.rest();
    }
  }
  return statements;
}

export function statementsIn(found: readonly Pick<FoundSection, "path" | "text" | "from_line" | "day">[]): Statement[] {
  return found.flatMap(({ path, text, from_line, day }) =>
    [...statementsOf(path, text)].map((each) => ({ day, ...each, line: from_line + each.line - 1 })),
  );
}

/** Statements of different days or authors that look like different answers to the same question, in words. */
export async function differences(
  statements: readonly Statement[],
  isAbout: (each: Statement) => boolean,
): Promise<string[]> {
  const asked = statements.filter(isAbout);
  const slices = new TimeSlices();
  const like = await LikeStatements.of(asked, slices);
  const lines: string[] = [];
  for (const [at, a] of asked.entries()) {
    if (slices.isDue) await slices.rest();
    for (const b of like.differing(a, at + 1)) {
      if (a.day === b.day && a.by === b.by) continue;
      const [newer, older] = [a, b].sort(newerFirst) as [Statement, Statement];
      const mark = newer.day === older.day ? "" : " (newer)";
      lines.push(`These seem to contradict each other: ${placeWords(newer)}${mark} and ${placeWords(older)}.`);
      if (lines.length === MOST_NAMED) return lines;
    }
    if (like.compared > MOST_COMPARED) break;
  }
  return lines;
}

function newerFirst(a: Statement, b: Statement): number {
  return (b.day ?? "") < (a.day ?? "") ? -1 : (b.day ?? "") > (a.day ?? "") ? 1 : 0;
}
