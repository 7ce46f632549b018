export type TagPiece = { type: "text" | "call"; text: string };

/**
 * Splits streamed text into plain text and the content of tags. Plain text comes out as soon as it cannot be the
 * beginning of a tag; the content of a tag comes out when the tag closes, or when the text ends (models often stop
 * before the closing tag).
 */
export interface TagReader {
  push(text: string): TagPiece[];
  end(): TagPiece[];
}

export function createTagReader(tag: string): TagReader {
  const opening = `<${tag}>`;
  const closing = `</${tag}>`;
  /** What is inside an open tag and cannot be a part of its end, in pieces: each character is searched once. */
  let body: string[] = [];
  let rest = "";
  let inside = false;

  function push(text: string): TagPiece[] {
    rest += text;
    const pieces: TagPiece[] = [];
    for (;;) {
      const boundary = inside ? closing : opening;
      const at = rest.indexOf(boundary);
      if (at < 0) break;
      if (inside) pieces.push({ type: "call", text: taken(rest.slice(0, at)) });
      else if (at > 0) pieces.push({ type: "text", text: rest.slice(0, at) });
      rest = rest.slice(at + boundary.length);
      inside = !inside;
    }
    const kept = beginningOf(inside ? closing : opening, rest);
    const known = rest.slice(0, rest.length - kept);
    rest = rest.slice(known.length);
    if (known === "") return pieces;
    if (inside) body.push(known);
    else pieces.push({ type: "text", text: known });
    return pieces;
  }

  function taken(last: string): string {
    const text = body.join("") + last;
    body = [];
    return text;
  }

  function end(): TagPiece[] {
    const pieces: TagPiece[] =
      rest === "" && !inside ? [] : [{ type: inside ? "call" : "text", text: inside ? taken(rest) : rest }];
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
