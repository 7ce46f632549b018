/** One command as tmux reads it from a file or from a control client: on one line, whatever the arguments contain. */
export function tmuxLine(words: readonly string[]): string {
  const line = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  if (line.includes("\0")) throw new Error("An argument for tmux contains a NUL character.");
  return line.replaceAll("\n", `'"\\n"'`).replaceAll("\r", `'"\\r"'`);
}
