/** Words of a model on their way into somebody else's window: it decides nothing about how they are shown. */

/** Characters that hide or reorder what follows: controls, and the marks that turn the direction of writing. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]/g;

export function seenOnly(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(UNSEEN, "").toWellFormed();
}

/**
 * Escapes and cuts: what comes out is at most `limit` UTF-16 units long, and neither a character nor an escape is cut
 * in two. `escape` is given the text in pieces that mean the same alone.
 */
export function fitted(text: string, limit: number, pieces: (text: string) => Iterable<string>): string {
  let out = "";
  let fit = "";
  for (const piece of pieces(seenOnly(text))) {
    out += piece;
    if (out.length > limit) return `${fit}…`;
    if (out.length < limit) fit = out;
  }
  return out;
}
