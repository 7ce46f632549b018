/**
 * Names that one file system or another takes for `.git`: case (macOS, Windows), characters that HFS+ ignores, short
 * names and streams of NTFS, dots and spaces at the end. git itself refuses most; this does not depend on its version
 * or on the machine's settings.
 */
export function problemWithName(name: Buffer, most: number): string | undefined {
  if (name.length === 0 || name.includes(47)) return "It has a file with an empty name, or with a slash in it.";
  if (name.length > most) return `It has a file whose name is ${name.length} bytes long; at most ${most} are taken.`;
  const text = name.toString("utf8");
  if (text === "." || text === "..") return `It has a file named "${text}".`;
  // On Windows a backslash is a slash.
  if (text.split("\\").some((part) => part === ".." || isGitName(part)))
    return `It has a file whose name can be taken for ".git" (${JSON.stringify(text)}).`;
  return undefined;
}

export function isGitName(part: string): boolean {
  const plain = part
    .normalize("NFKC")
    .replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, "")
    .toLowerCase()
    // A stream of NTFS; trailing dots and spaces, which it drops.
    .replace(/:.*$/s, "")
    .replace(/[. ]+$/, "");
  return plain === ".git" || plain === "git~1";
}
