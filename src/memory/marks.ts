/**
 * A note ends with the day on which it was written and the run that wrote it: `(2026-02-11, run-3)`. People see this
 * mark, and may add, change or remove it.
 */
export interface Mark {
  day: string;
  by?: string;
}

const MARK = String.raw`\((\d{4}-\d{2}-\d{2})(?:, ([^()\n]+))?\)`;
const AT_LINE_END = new RegExp(String.raw`${MARK}[ \t]*$`, "gm");
/** Begins with the bracket: blanks before it would be searched once for each of them. */
const AT_END = new RegExp(String.raw`${MARK}\s*$`);
const RIGHT_BEHIND = new RegExp(String.raw`^[ \t]*${MARK}(?=[ \t]*(?:\n|$))`);

/** On the same line if the note is one line of text, otherwise on its own line. */
export function marked(note: string, { day, by }: Mark): string {
  const mark = `(${day}${by ? `, ${by}` : ""})`;
  const isOneLine = !note.includes("\n") && !/^\s*(?:#|\||```|~~~)/.test(note);
  return `${note}${isOneLine ? " " : "\n\n"}${mark}`;
}

export function withoutMark(note: string): string {
  const mark = AT_END.exec(note);
  return mark ? note.slice(0, mark.index).trimEnd() : note;
}

/** The length of the mark directly after this position on the same line; 0 if there is none. */
export function markBehind(text: string, place: number): number {
  return RIGHT_BEHIND.exec(text.slice(place, place + 200))?.[0].length ?? 0;
}

export interface PlacedMark extends Mark {
  end: number;
}

function marksIn(text: string): PlacedMark[] {
  return [...text.matchAll(AT_LINE_END)].map((found) => {
    const [whole, day = "", by] = found;
    return { end: found.index + whole.length, day, ...(by ? { by } : {}) };
  });
}

/**
 * The mark that applies to a part of a text: the last one in it, otherwise the next one below, at the end of the same
 * note. Text written by hand above a later note gets that note's mark, since it is not newer. Call it part by part from
 * the beginning of the text to its end, so that no mark is read twice.
 */
export function noteMarks(text: string): (from: number, to: number) => PlacedMark | undefined {
  const marks = marksIn(text);
  let next = 0;
  return (from, to) => {
    while ((marks[next]?.end ?? Number.POSITIVE_INFINITY) <= from) next += 1;
    let last = next;
    while ((marks[last + 1]?.end ?? Number.POSITIVE_INFINITY) <= to) last += 1;
    return marks[last];
  };
}
