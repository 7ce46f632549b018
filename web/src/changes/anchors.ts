import type { FileHunk, ReviewComment } from "../live/repository-api.ts";
import { linesOf } from "./diff-lines.ts";

/** Where a comment stands now: `line` is null where its line is not there any more, or not in sight. */
export interface AnchoredComment {
  comment: ReviewComment;
  line: number | null;
}

/**
 * Where comments on a file stand in a diff of it, which may be a later one than they were written on: at their line if
 * it still reads as it did, else at the nearest one that does. Without one, or where it is hidden, they have no line.
 */
export function anchored(hunks: readonly FileHunk[], comments: readonly ReviewComment[]): AnchoredComment[] {
  if (comments.length === 0) return [];
  const texts = { old: new Map<number, string>(), new: new Map<number, string>() };
  for (const line of hunks.flatMap(linesOf)) {
    if (line.sign === "-" && line.old !== null) texts.old.set(line.old, line.text);
    else if (line.new !== null) texts.new.set(line.new, line.text);
  }
  return comments.map((comment) => ({ comment, line: placeOf(texts[comment.side], comment) }));
}

function placeOf(texts: ReadonlyMap<number, string>, comment: ReviewComment): number | null {
  const { line } = comment;
  const quote = quotedLine(comment);
  if (isSame(texts.get(line), quote)) return line;
  // An empty line is like any other.
  if (quote.trim() === "") return null;
  const alike = [...texts].flatMap(([number, text]) => (isSame(text, quote) ? [number] : []));
  return alike.sort((a, b) => Math.abs(a - line) - Math.abs(b - line))[0] ?? null;
}

/** The quote has the lines around it too, with their numbers; the line itself is marked. */
export function quotedLine({ line, quote }: ReviewComment): string {
  const mark = `${line}→`;
  const marked = quote.split("\n").find((each) => each.startsWith(mark));
  return marked === undefined ? quote : marked.slice(mark.length);
}

/** The quote may be cut off, and a line that is only indented differently is the same line. */
function isSame(text: string | undefined, quote: string): boolean {
  if (text === undefined) return false;
  const [now, then] = [text.trim(), quote.trim()];
  return now === then || (then.length >= LONG && now.startsWith(then));
}

/** The server cuts longer lines. */
const LONG = 250;
