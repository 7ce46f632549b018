/**
 * Shows text that others wrote without hiding anything: a character that is invisible, or reverses the direction of
 * text, is written as `⟨U+202E⟩`.
 */

/**
 * A name on one line. Joiners stay where scripts and emoji need them, and of marks stacked on a letter only a few stay.
 */
export function visible(text: string): string {
  return PLAIN.test(text) ? text : text.replace(HIDDEN, written).replace(PILED, "$1");
}

/** Prose: like `visible`, but keeps lines and tabs. */
export function visibleLines(text: string): string {
  return text.replace(HIDDEN, (char) => (/[\n\r\t]/.test(char) ? char : written(char)));
}

/**
 * A command, a path or a file's content, in which every character matters: joiners, unusual spaces and carriage returns
 * are written out too, and long gaps are counted, since they push what follows out of sight.
 */
export function exactLines(text: string): string {
  return text
    .replace(EXACT, written)
    .replace(EXACT_PILED, (_, kept: string, more: string) => `${kept}⟨${[...more].length} more marks⟩`)
    .replace(WIDE_GAP, (gap) => `⟨${gap.length} spaces⟩`)
    .replace(TALL_GAP, (gap) => `\n⟨${gap.split("\n").length - 2} empty lines⟩\n`);
}

/** Like `exactLines`, on one line. */
export function exactLine(text: string): string {
  return exactLines(text.replace(/\n/g, "⟨U+000A⟩").replace(/\t/g, "⟨U+0009⟩"));
}

/** Words that mix Latin letters with look-alikes of another alphabet. */
export function mixedWords(text: string): string[] {
  const words = text.match(/[\p{L}\p{M}]+/gu) ?? [];
  return [...new Set(words.filter((word) => /\p{Script=Latin}/u.test(word) && LOOKALIKE.test(word)))];
}

const PLAIN = /^[\x20-\x7e]*$/;
const NO_JOINT = String.raw`[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}\p{P}\p{Z}]`;
const HIDDEN = new RegExp(
  String.raw`[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\u00AD\u180E\u200B\u2060-\u206F\u3164\uFEFF\uFFA0\u{E0000}-\u{E007F}]|(?<=^|${NO_JOINT})[\u200C\u200D]|[\u200C\u200D](?=$|${NO_JOINT})`,
  "gu",
);
const PILED = /(\p{M}{4})\p{M}+/gu;
const EXACT = /(?![\n\t ])(?:\p{C}|\p{Z}|\p{Default_Ignorable_Code_Point}|\u2800)/gu;
const EXACT_PILED = /(\p{M}{4})(\p{M}+)/gu;
const WIDE_GAP = /[ \t]{25,}/g;
const TALL_GAP = /\n(?:[ \t]*\n){2,}/g;
const LOOKALIKE = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Cherokee}\p{Script=Armenian}]/u;

function written(char: string): string {
  return `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
