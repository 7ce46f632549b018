import type { Memory } from "./memory.ts";
import { type Found, textOf } from "./search.ts";
import { differ, placeWords, quoted, type Statement, statementsOf } from "./statements.ts";

/** What holds until somebody says otherwise; logs and experiences tell what once was. */
const LASTING = /^(?:MEMORY\.md$|preferences\/|knowledge\/|person\/(?!index\.md$))/;
/** So much is looked through at a write, the last changed first. */
const MOST_FILES = 100;
const MOST_BYTES = 1024 * 1024;
const MOST_NAMED = 3;

/** What other runs and agents noted that looks like another answer to the same question, newest first. */
export async function contradicted(memory: Memory, path: string, content: string, by: string): Promise<Statement[]> {
  if (!LASTING.test(path)) return [];
  const news = statementsOf(path, content);
  const known = (await lastingStatements(memory)).filter(
    (each) => each.by?.split(",")[0] !== by && !news.some(({ text }) => text === each.text),
  );
  return known
    .filter((each) => news.some((said) => differ(said, each)))
    .sort(newerFirst)
    .slice(0, MOST_NAMED);
}

export function contradictionWords(others: readonly Statement[]): string {
  if (others.length === 0) return "";
  const lines = others.map((each) => `- ${placeWords(each)}: ${quoted(each.text)}`);
  return `\nOther notes seem to say something else. Use supersedes for what is no longer true:\n${lines.join("\n")}`;
}

/** Everything that is noted for good, as far as it is looked through. */
export async function lastingStatements(memory: Memory, which: RegExp = LASTING): Promise<Statement[]> {
  const files = (await memory.list()).filter(({ path, bytes }) => which.test(path) && bytes > 0);
  let room = MOST_BYTES;
  const statements: Statement[] = [];
  for (const file of files.sort((a, b) => b.changedAt - a.changedAt).slice(0, MOST_FILES)) {
    room -= file.bytes;
    if (room < 0) break;
    const day = memory.dayOf(file.changedAt);
    const said = statementsOf(file.path, (await textOf(memory.searchable, file.path)) ?? "");
    statements.push(...said.map((each) => ({ day, ...each })));
  }
  return statements;
}

export function statementsIn(found: readonly Pick<Found, "path" | "text" | "from_line" | "day">[]): Statement[] {
  return found.flatMap(({ path, text, from_line, day }) =>
    statementsOf(path, text).map((each) => ({ day, ...each, line: from_line + each.line - 1 })),
  );
}

/** Statements of different days or authors that look like other answers to the same question, in words. */
export function differences(statements: readonly Statement[], isAbout: (each: Statement) => boolean): string[] {
  const asked = statements.filter(isAbout);
  const lines: string[] = [];
  for (const [at, a] of asked.entries())
    for (const b of asked.slice(at + 1)) {
      if ((a.day === b.day && a.by === b.by) || !differ(a, b)) continue;
      const [newer, older] = [a, b].sort(newerFirst) as [Statement, Statement];
      const mark = newer.day === older.day ? "" : " (newer)";
      lines.push(`These seem to contradict each other: ${placeWords(newer)}${mark} and ${placeWords(older)}.`);
      if (lines.length === MOST_NAMED) return lines;
    }
  return lines;
}

function newerFirst(a: Statement, b: Statement): number {
  return (b.day ?? "") < (a.day ?? "") ? -1 : (b.day ?? "") > (a.day ?? "") ? 1 : 0;
}
