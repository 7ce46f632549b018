import { visibleLines } from "../../protocol/visible.ts";

/** Text of a model on its way to somebody else's user interface: it must not control how it is displayed. */

/** With what hides or reorders written out: taken out, nobody would know that it was there. */
function seenOnly(text: string): string {
  return visibleLines(text.replaceAll("\r\n", "\n")).replaceAll("\r", "⟨U+000D⟩").toWellFormed();
}

/**
 * Escapes and cuts: the result is at most `limit` UTF-16 units long, and neither a character nor an escape is cut in
 * two. `pieces` splits the text into parts that can stand alone: escaped characters, and addresses. The length of what
 * is missing is stated.
 */
export function fitted(text: string, limit: number, pieces: (text: string) => Iterable<string>): string {
  let out = "";
  let kept = "";
  let missing = 0;
  for (const piece of pieces(seenOnly(text))) {
    out += out.length > limit ? "" : piece;
    if (missing === 0 && out.length <= limit - LONGEST_MARK) kept = out;
    else missing += piece.startsWith("http") ? piece.length : 1;
  }
  return out.length > limit ? `${kept}… (${missing} more characters)` : out;
}

const LONGEST_MARK = "… (1234567890 more characters)".length;

export function isCut(text: string, limit: number, pieces: (text: string) => Iterable<string>): boolean {
  let length = 0;
  for (const piece of pieces(seenOnly(text))) length += piece.length;
  return length > limit;
}
