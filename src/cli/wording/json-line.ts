/**
 * JSON on one line that can be printed anywhere: characters that steer a terminal, change the direction of text or
 * cannot be seen are written as `\uXXXX`. It is the same JSON value.
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
