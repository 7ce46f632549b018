/**
 * JSON on one line that is safe to print anywhere: characters that control a terminal, change the direction of text or
 * are invisible are written as `\uXXXX`. The JSON value is the same.
 */
export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value).replace(UNSEEN, escaped)}\n`;
}

/** Controls (C0, DEL, C1), formats (direction, zero width, tags), line and paragraph separators. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function escaped(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
