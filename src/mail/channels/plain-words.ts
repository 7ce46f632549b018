import { visibleLines } from "../../protocol/visible.ts";

/** Words of a model on their way into somebody else's window: it decides nothing about how they are shown. */

/** With what hides or reorders written out: taken out, nobody would know that it was there. */
function seenOnly(text: string): string {
  return visibleLines(text.replaceAll("\r\n", "\n")).replaceAll("\r", "⟨U+000D⟩").toWellFormed();
}

/**
 * Escapes and cuts: what comes out is at most `limit` UTF-16 units long, and neither a character nor an escape is cut
 * in two. `pieces` gives the text in parts that mean the same alone: escaped characters, and addresses. What is missing
 * is counted.
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
