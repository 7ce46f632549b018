import { Lexer, type Token } from "marked";

/**
 * Untrusted Markdown, parsed in pieces. Parsing that takes quadratic time, or a call per nesting level, is thereby
 * limited to a harmless length and depth.
 *
 * CHUNKS-1. Every character is in exactly one piece. A piece ends between two blocks if possible; a code block that
 *     continues in the next piece is opened there again.
 * CHUNKS-2. No text makes parsing fail; what cannot be parsed is shown as text.
 */
const PIECE = 8000;
/** Paragraphs that are longer are read in parts: marks that span two parts are shown as they were written. */
const INLINE = 2000;
/** Opens a block of code, and with nothing after it ends one. With the same mark after it, it is code within a line. */
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$/;
/** Deeper nesting is shown as text. */
export const DEEPEST = 16;

export function piecesOf(text: string): string[] {
  if (text.length <= PIECE) return [text];
  const pieces: string[] = [];
  let begin = 0;
  /** The line that opened the block of code we are in, and where. */
  let fence: { marks: string; line: string; from: number } | null = null;
  /** Said again where such a block goes on in the next piece. */
  let opening = "";
  let [between, anywhere] = [0, 0];
  const cut = (at: number) => {
    pieces.push(opening + text.slice(begin, at));
    opening = fence && fence.from < at ? fence.line : "";
    begin = at;
    between = 0;
    anywhere = 0;
  };
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline + 1;
    const line = text.slice(at, Math.min(end, at + 200));
    const [, marks, after] = FENCE.exec(line.trimEnd()) ?? [];
    if (!fence && line.trim() === "") between = end;
    if (marks && !fence) fence = { marks, line: `${line.trimEnd()}\n`, from: at };
    else if (marks && fence && after === "" && marks.startsWith(fence.marks)) fence = null;
    if (end - begin > PIECE) {
      const place = [between, anywhere].find((each) => each > begin);
      if (place !== undefined) cut(place);
    }
    // One line that is too long by itself.
    while (end - begin > PIECE) cut(evenPlace(text, begin + PIECE));
    anywhere = end;
    at = end;
  }
  if (begin < text.length) pieces.push(opening + text.slice(begin));
  return pieces;
}

/** Not in the midst of a character that has two halves. */
function evenPlace(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code < 0xe000 ? at - 1 : at;
}

/** Link definitions, wherever they are in a long text. */
export function definitionsIn(text: string): string {
  return (text.match(/^ {0,3}\[[^\]\n]{1,80}\]: {0,3}\S{1,500}[^\n]{0,200}$/gm) ?? []).slice(0, 50).join("\n");
}

export function tokensOf(piece: string, definitions = ""): Token[] {
  try {
    const lexer = new Lexer({ gfm: true, breaks: true });
    const source = shallow(piece.replace(/\r\n?/g, "\n"));
    // Only what they are short for is taken from them: in a block of code that goes on they would be shown.
    lexer.blockTokens(definitions, []);
    lexer.inlineQueue = [];
    lexer.blockTokens(source, lexer.tokens);
    for (const { src, tokens } of lexer.inlineQueue)
      for (let at = 0; at < src.length; ) {
        const end = src.length - at > INLINE ? evenPlace(src, at + INLINE) : src.length;
        lexer.inlineTokens(src.slice(at, end), tokens);
        at = end;
      }
    lexer.inlineQueue = [];
    return lexer.tokens;
  } catch {
    return [{ type: "paragraph", raw: piece, text: piece, tokens: [{ type: "text", raw: piece, text: piece }] }];
  }
}

const MARKER = String.raw`[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))`;
const TOO_DEEP = new RegExp(`^((?:${MARKER}){${DEEPEST}}[ \\t]*)(?=${MARKER})(\\d*)`, "gm");

/** Quotes in quotes and lists in lists, no deeper than is of use: the next mark after that is written out. */
function shallow(text: string): string {
  return text.replace(TOO_DEEP, "$1$2\\");
}
