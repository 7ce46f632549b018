/**
 * Names as they are: nobody looks like somebody else, and no file like one of another kind, by characters that cannot be
 * seen or that turn the others round. Each of these is written out. A joiner stays where scripts and emoji need it, and
 * of marks that pile up on one letter a few stay.
 */
export function visible(text: string): string {
  return PLAIN.test(text) ? text : text.replace(HIDDEN, written).replace(PILED, "$1");
}

/** The same of a whole text, whose lines and tabs stay. */
export function visibleLines(text: string): string {
  return text.replace(HIDDEN, (char) => (/[\n\r\t]/.test(char) ? char : written(char)));
}

/** The last part of a path, by which people call a project. */
export function folderOf(path: string): string {
  return visible(path.split("/").at(-1) || path);
}

const PLAIN = /^[\x20-\x7e]*$/;
const NO_JOINT = String.raw`[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}\p{P}\p{Z}]`;
const HIDDEN = new RegExp(
  String.raw`[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\u00AD\u180E\u200B\u2060-\u206F\u3164\uFEFF\uFFA0\u{E0000}-\u{E007F}]|(?<=^|${NO_JOINT})[\u200C\u200D]|[\u200C\u200D](?=$|${NO_JOINT})`,
  "gu",
);
const PILED = /(\p{M}{4})\p{M}+/gu;

function written(char: string): string {
  return `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
