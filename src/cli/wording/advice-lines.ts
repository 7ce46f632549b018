import { plain, widthOf } from "./width.ts";

/**
 * Words and the commands that follow from them (`Try again: agiraph resume A`): in one line where it fits, otherwise each
 * command in a line of its own, so that no terminal breaks it in the middle. Without `columns` nothing is too long.
 */
export function adviceLines(words: string, commands: readonly string[], columns: number | undefined): string[] {
  const line = [words, ...commands].join(". ");
  if (columns === undefined || widthOf(plain(line)) + INDENT.length <= columns) return [line];
  return [`${words}.`, ...commands.map((command) => `${INDENT}${command}`)];
}

const INDENT = "  ";
