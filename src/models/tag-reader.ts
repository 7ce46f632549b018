export type TagPiece = { type: "text" | "call"; text: string };

/**
 * Splits streamed text into words and what stands between tags. Words come out as soon as they cannot be the
 * beginning of a tag any more; the inside of a tag comes out when its tag closes, or when the text ends (models like
 * to stop before the closing tag).
 */
export interface TagReader {
  push(text: string): TagPiece[];
  end(): TagPiece[];
}

export function createTagReader(tag: string): TagReader {
  const opening = `<${tag}>`;
  const closing = `</${tag}>`;
  let rest = "";
  let inside = false;

  function push(text: string): TagPiece[] {
    rest += text;
    const pieces: TagPiece[] = [];
    for (;;) {
      const boundary = inside ? closing : opening;
      const at = rest.indexOf(boundary);
      if (at < 0) break;
      if (inside || at > 0) pieces.push({ type: inside ? "call" : "text", text: rest.slice(0, at) });
      rest = rest.slice(at + boundary.length);
      inside = !inside;
    }
    if (inside) return pieces;
    const kept = beginningOf(opening, rest);
    if (rest.length > kept) pieces.push({ type: "text", text: rest.slice(0, rest.length - kept) });
    rest = rest.slice(rest.length - kept);
    return pieces;
  }

  function end(): TagPiece[] {
    const pieces: TagPiece[] = rest === "" && !inside ? [] : [{ type: inside ? "call" : "text", text: rest }];
    rest = "";
    inside = false;
    return pieces;
  }

  return { push, end };
}

/** How many of the last characters of `text` may be the beginning of `tag`. */
function beginningOf(tag: string, text: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (tag.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
