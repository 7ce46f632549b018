import { plain, widthOf, wrap } from "./width.ts";

/**
 * Words and the commands that follow from them (`Try again: agiraph resume A`): in one line where it fits, otherwise each
 * command in a line of its own, so that no terminal breaks it in the middle; the words are wrapped. Without
 * `columns` nothing is too long.
 */
export function adviceLines(words: string, commands: readonly string[], columns: number | undefined): string[] {
  const line = [words, ...commands].join(". ");
  if (columns === undefined || widthOf(plain(line)) + INDENT.length <= columns) return [line];
  const above = `${words}.`;
  // Colours have no width, but wrapping would count them.
  const wrapped = widthOf(plain(above)) <= columns ? [above] : wrap(above, columns);
  return [...wrapped, ...commands.map((command) => `${INDENT}${command}`)];
}

const INDENT = "  ";
