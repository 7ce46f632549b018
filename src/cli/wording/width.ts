/**
 * Text of models and file names go to a terminal, so nothing in them may control it.
 *
 * WIDTH-1. `plain` leaves no control character, escape sequence or direction mark: one line, printable.
 * WIDTH-2. `cut` never returns more columns than asked for; colours are put on afterwards, never cut through.
 */

/** One printable line. Line breaks and tabs become spaces. */
export function plain(text: string): string {
  return text.replace(ESCAPES, "").replace(/\s+/gu, " ").replace(UNPRINTABLE, "").trim();
}

/** The headline of a text: its first line that is not empty. */
export function headline(text: string): string {
  return (
    plainLines(text)
      .map(plain)
      .find((line) => line !== "") ?? ""
  );
}

/** Like `plain`, but keeps lines and indentation. */
export function plainLines(text: string): string[] {
  return text
    .replace(ESCAPES, "")
    .replaceAll("\t", "    ")
    .split(/\r\n|[\n\r\u2028\u2029]/u)
    .map((line) => line.replace(UNPRINTABLE, "").trimEnd());
}

/**
 * The last check before a terminal: of all control characters only colours, tabs and line breaks are left. Text from
 * outside should pass through `plain` or `plainLines` before; this catches what did not.
 */
export function harmless(text: string): string {
  return text
    .split(ANY_COLOUR)
    .map((part, at) =>
      at % 2 === 1 ? (COLOUR.test(part) ? part : "") : part.replace(ESCAPES, "").replace(STEERING, ""),
    )
    .join("");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
const ANY_COLOUR = /(\u001b\[[\d;]*m)/;
const EVERY_COLOUR = new RegExp(ANY_COLOUR, "g");
/** Those that we use: neither hidden text (8) nor blinking (5, 6). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
const COLOUR = /^\u001b\[(?:[0-479]?|2[2-9]|[349]\d|10[0-7])m$/;
const STEERING = /(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\p{Cs}]/gu;

// CSI, OSC and other string sequences, then what is left of single escapes.
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not get through
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]P^_X]|[\u009d\u0090\u009e\u009f\u0098])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/gu;
const UNPRINTABLE = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\p{Cs}\p{Co}]/gu;

/** The number of columns that the text takes. */
export function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let width = 0;
  for (const letter of text) width += widthOfLetter(letter);
  return width;
}

function widthOfLetter(letter: string): number {
  if (ZERO.test(letter)) return 0;
  return WIDE.test(letter) ? 2 : 1;
}

const ZERO = /^(?:[\p{M}\p{Cf}\p{Cc}]|\p{Emoji_Modifier})$/u;
const WIDE =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{17000}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]$/u;

/** The beginning that fits, with … if something was cut. */
export function cutToWidth(text: string, columns: number): string {
  if (columns <= 0) return "";
  if (text.length <= columns && /^[ -~]*$/.test(text)) return text;
  if (widthOf(text) <= columns) return text;
  let kept = "";
  let width = 0;
  for (const letter of text) {
    width += widthOfLetter(letter);
    if (width > columns - 1) break;
    kept += letter;
  }
  return `${kept.trimEnd()}…`;
}

export function pad(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - widthOf(text)));
}

/**
 * Wraps at spaces; a word that is too wide for a line is broken, or left whole for the terminal to break, so that a path
 * can be copied. What is written without spaces, such as Chinese, is broken either way.
 */
export function wrap(text: string, columns: number, tooWide: "broken" | "whole" = "broken"): string[] {
  const room = Math.max(columns, 2);
  const lines: string[] = [];
  let line = "";
  let width = 0;
  for (const piece of text.split(/(?<= )(?=[^ ])/u)) {
    const needed = widthOf(piece.trimEnd());
    if (width > 0 && width + needed > room) {
      lines.push(line.trimEnd());
      [line, width] = ["", 0];
    }
    const isBroken = needed > room && (tooWide === "broken" || isWithoutSpaces(piece));
    for (const letter of isBroken ? piece : [piece]) {
      const more = letter === piece ? needed : widthOfLetter(letter);
      if (width > 0 && width + more > room) {
        lines.push(line.trimEnd());
        [line, width] = ["", 0];
      }
      line += letter;
      width += widthOf(letter);
    }
  }
  if (line.trimEnd() !== "" || lines.length === 0) lines.push(line.trimEnd());
  return lines;
}

/** Prose of a language that has no spaces, and no path or address. */
function isWithoutSpaces(piece: string): boolean {
  return !piece.includes("/") && [...piece].some((letter) => WIDE.test(letter));
}

/**
 * A message with commands and paths in it, wrapped for reading: what people copy stays whole, because a line break within
 * would be copied too.
 */
export function wrapMessage(text: string, columns: number): string[] {
  const whole = text.replace(COMMAND, (command) => command.replaceAll(" ", UNBROKEN));
  return wrap(whole, columns, "whole").map((line) => line.replaceAll(UNBROKEN, " "));
}

/**
 * The same with its own indentation, and that of a numbered choice, kept in further lines. What a program wants to do
 * stands in its box as it was written.
 */
export function wrapIndented(line: string, columns: number): string[] {
  if (/^ *│/.test(line)) return [line];
  const [prefix = ""] = /^ *(?:\d+ {2})?/.exec(line) ?? [];
  const room = Math.max(LEAST_ROOM, columns - prefix.length);
  const [first = "", ...rest] = wrapMessage(line.slice(prefix.length), room);
  return [prefix + first, ...rest.map((more) => " ".repeat(prefix.length) + more)];
}

/** Lines for people with colours in them, each wrapped like `wrapIndented` where it is too long. */
export function wrapColoured(text: string, columns: number): string[] {
  const colours: string[] = [];
  // A colour takes no room: a letter without width stands for it while the lines are broken.
  const measured = text.replaceAll(NO_WIDTH, "").replace(EVERY_COLOUR, (colour) => {
    colours.push(colour);
    return NO_WIDTH;
  });
  return measured
    .split("\n")
    .flatMap((line) => (widthOf(line) <= columns ? [line] : wrapIndented(line, columns)))
    .map((line) => line.replaceAll(NO_WIDTH, () => colours.shift() ?? ""));
}

const NO_WIDTH = "\u2060";

/** A text beside its label, which takes so much room; further lines are below the text. */
export function wrapBeside(label: string, room: number, text: string, columns: number): string[] {
  const [first = "", ...rest] = wrapColoured(" ".repeat(room) + text, columns);
  return [label + first.slice(room), ...rest];
}

/** A command is quoted, or follows a colon and ends with its sentence. */
const COMMAND = /`[^`]+`|(?<=: )(?:agiraph|npm (?:start --|install)|tx) .+?(?=[.,;)](?: |$)| ·|$)/g;
const UNBROKEN = "\u00a0";

/** Less room than this beside a prefix, and the lines after the first begin at the edge. */
const LEAST_ROOM = 20;

/**
 * Prefix and text, wrapped: further lines are indented to where the text begins. A path or address that is too wide
 * stays whole, to be copied. Without a width it is one line.
 */
export function wrapAfter(prefix: string, text: string, columns: number | undefined): string[] {
  if (columns === undefined) return [prefix + text];
  const room = columns - widthOf(prefix);
  if (room < LEAST_ROOM) return wrap(prefix + text, columns, "whole");
  const [first = "", ...rest] = wrap(text, room, "whole");
  return [prefix + first, ...rest.map((line) => " ".repeat(widthOf(prefix)) + line)];
}
