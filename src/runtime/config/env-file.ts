import { parseEnv } from "node:util";

/** The variables of a `.env` file, and what is wrong in it, in sentences. */
export interface EnvFile {
  env: Readonly<Record<string, string | undefined>>;
  problems: string[];
}

/**
 * Reads a `.env` file.
 *
 * ENV-FILE-1. A line that sets nothing, or something else than it seems to, is named by file and line with what is wrong;
 *     the other lines are used.
 * ENV-FILE-2. Nothing of such a line is repeated: a key may be anywhere in it.
 */
export function envIn(path: string, text: string): EnvFile {
  // An editor of another system may begin a file with a mark, which would become part of the first name.
  const plain = text.replace(/^\uFEFF/, "");
  const problems = problemsIn(plain.split(/\r?\n/)).map(({ line, what }) => `${path}:${line}: ${what}`);
  return { env: parseEnv(plain), problems };
}

interface Problem {
  line: number;
  what: string;
}

const FORM = "Write NAME=value, or begin the line with # to make it a comment.";

function problemsIn(lines: readonly string[]): Problem[] {
  const problems: Problem[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = (lines[at] ?? "").trim();
    if (line === "" || line.startsWith("#")) continue;
    const problem = (what: string) => problems.push({ line: at + 1, what });
    const equals = line.indexOf("=");
    if (equals < 0) {
      problem(`this line is ignored, because it has no "=". ${FORM}`);
      continue;
    }
    const name = line.slice(0, equals).replace(/^export\s/, "");
    if (!NAME.test(name.trim()))
      problem(`this line is ignored, because there is no variable name before the "=". ${FORM}`);
    const value = line.slice(equals + 1).trim();
    const quote = QUOTES.find((each) => value.startsWith(each));
    if (quote === undefined) continue;
    const end = endOf(quote, [value.slice(1), ...lines.slice(at + 1)]);
    if (end === undefined) problem("the value begins with a quote that is never closed, so the quote is part of it.");
    else if (end.rest !== "" && !end.rest.startsWith("#"))
      problem(
        end.lines === 0
          ? "there is text after the closing quote, which is not part of the value. Remove it, or quote all of the value."
          : `the quoted value ends in the middle of line ${at + 1 + end.lines}, so the lines up to there are part of it. Close the quote where the value ends.`,
      );
    at += end?.lines ?? 0;
  }
  return problems;
}

const NAME = /^[A-Za-z_][\w.-]*$/;
const QUOTES = ['"', "'", "`"];

/** How many lines further the quote is closed, and what follows it there. */
function endOf(quote: string, lines: readonly string[]): { lines: number; rest: string } | undefined {
  const found = lines.findIndex((line) => line.includes(quote));
  const line = lines[found];
  return line === undefined ? undefined : { lines: found, rest: line.slice(line.indexOf(quote) + 1).trim() };
}
