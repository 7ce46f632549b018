/** A word as it is typed in a shell: in quotes, if it needs them. */
export function shellWord(word: string): string {
  return /^[\p{L}\p{M}\p{N}_@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
