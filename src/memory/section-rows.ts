import { createHash } from "node:crypto";
import { dateWords, dayNamedIn } from "./dates.ts";
import { noteMarks, type PlacedMark, withoutMark } from "./marks.ts";
import { wordsToKeep } from "./search-terms.ts";
import { type Section, sectionsOf } from "./sections.ts";

/** What the index holds of a section. */
interface SectionRow extends Section {
  /** In milliseconds, where a day is named for it. */
  at: number | undefined;
  hash: string;
  words: string;
}

/** The sections of a file, one by one: finding the words of each takes a while. */
export function* sectionRows(path: string, text: string): Generator<SectionRow> {
  const firstLine = withoutMark(text.trimStart().split("\n", 1)[0]?.slice(0, 200) ?? "");
  const day = dateWords(firstLine).join(" ");
  const [ofName, ofFirstLine] = [dayNamedIn(path), dayNamedIn(firstLine)];
  const markOf = noteMarks(text);
  const name = path.replace(/\.md$/, "");
  for (const section of sectionsOf(text)) {
    const { headings, start, end } = section;
    const body = text.slice(start, end);
    // Its own heading is in the text already; those above it, and the file's name, say what it is about.
    const above = headings.filter((heading) => !body.startsWith("#") || !body.split("\n", 1)[0]?.includes(heading));
    // A log says its day in its name, in a heading or in its first line: each part of it is of that day.
    const about = [name, name.replaceAll(/[/_-]/g, " "), day, ...above].join(" ");
    const at = timeOf(section, ofName ?? dayOf(markOf(start, end)) ?? ofFirstLine, text.length);
    yield { ...section, at, hash: hashOf(body.trim()), words: wordsToKeep(`${about}\n${body}`) };
  }
}

/** Of a section's text as it is shown. */
function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

const DAY_MS = 86_400_000;

function dayOf(mark: PlacedMark | undefined): number | undefined {
  const day = mark && Date.parse(`${mark.day}T00:00:00Z`);
  return day === undefined || Number.isNaN(day) ? undefined : day;
}

/** What stands lower in a log was written later: within its day, its place tells. Undefined where no day is named. */
function timeOf({ headings, start }: Section, ofFile: number | undefined, length: number): number | undefined {
  const day =
    headings
      .toReversed()
      .map(dayNamedIn)
      .find((named) => named !== undefined) ?? ofFile;
  return day === undefined ? undefined : day + (DAY_MS * start) / (length + 1);
}
