import { noteMarks } from "./marks.ts";
import { STOPWORDS, wordsIn } from "./search-terms.ts";
import { plainForms } from "./word-forms.ts";

/** A line of a memory that states something: where it is, its date, and its author. */
export interface Statement {
  path: string;
  /** From 1. */
  line: number;
  text: string;
  day?: string;
  by?: string;
  own: ReadonlySet<string>;
  /** With those of the headings above it. */
  words: ReadonlySet<string>;
}

export function* statementsOf(path: string, text: string): Generator<Statement> {
  const markOf = noteMarks(text);
  let headings: { level: number; words: string[] }[] = [];
  let place = 0;
  for (const [at, line] of text.split("\n").entries()) {
    const from = place;
    place += line.length + 1;
    const heading = /^(#{1,6})\s+(.*)$/.exec(line);
    if (heading) {
      const level = heading[1]?.length ?? 1;
      headings = [...headings.filter((each) => each.level < level), { level, words: telling(heading[2] ?? "") }];
      continue;
    }
    const said = line.replace(/\(\d{4}-\d{2}-\d{2}(?:, [^()]+)?\)\s*$/, "").trim();
    const own = new Set(telling(said));
    if (own.size === 0) continue;
    const { day, by } = markOf(from, from + line.length) ?? {};
    const words = new Set([...headings.flatMap((each) => each.words), ...own]);
    yield { path, line: at + 1, text: said, ...(day && { day }), ...(by && { by }), own, words };
  }
}

const NEGATIONS = new Set(["no", "not", "never", "don", "doesn", "isn", "won"]);

function telling(text: string): string[] {
  return wordsIn(plainForms(text))
    .filter((word) => !STOPWORDS.has(word) || NEGATIONS.has(word))
    .map((word) => (word.length > 3 ? word.replace(/s$/, "") : word));
}

export const SAME_SUBJECT = 0.6;
const A_VALUE = 2;

/**
 * Whether two statements look like different answers to the same question: most of their words are the same, and each
 * has one that the other lacks. It compares words, not meaning: its findings must be looked at, and what it does not
 * find may still be inconsistent.
 */
export function differ(a: Statement, b: Statement): boolean {
  const shared = inBoth(a.words, b.words);
  if (shared < 2 || shared / Math.min(a.words.size, b.words.size) <= SAME_SUBJECT) return false;
  if (a.words.size === shared || b.words.size === shared) return false;
  // The same heading alone is not a subject, unless what stands below it is only a value.
  const isValue = a.own.size <= A_VALUE && b.own.size <= A_VALUE;
  return isValue || inBoth(a.own, b.own) > 0;
}

function inBoth(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of a) if (b.has(word)) shared += 1;
  return shared;
}

/** A line without its layout. Compared word for word: "before" and "after" make opposites of the same words. */
export function plainLine(line: string): string {
  return line
    .trim()
    .replace(/^(?:(?:[-*+>]|\d+[.)]|#{1,6})\s+)+/, "")
    .replace(/\s+/g, " ")
    .replace(/[.。]$/, "");
}

/** `path:line · day · by`, as search results name a place. */
export function placeWords({ path, line, day, by }: Statement): string {
  return [`${path}:${line}`, day, by].filter(Boolean).join(" · ");
}

export function quoted(text: string): string {
  return text.length > 160 ? `"${text.slice(0, 159).toWellFormed()}…"` : `"${text}"`;
}
