/** As a value of a file of git's settings. */
export function settingOf(text: string): string {
  return `"${text.replaceAll("\0", "").replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"`;
}

/** As one word of a shell. */
export function inQuotes(text: string): string {
  return `'${text.replaceAll("\0", "").replaceAll("'", `'\\''`)}'`;
}
