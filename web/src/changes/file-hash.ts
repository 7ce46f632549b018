/** The file that an address points at: `#src/a.ts`. */
export function pathInHash(hash: string): string | null {
  if (hash.length < 2) return null;
  try {
    return decodeURIComponent(hash.slice(1));
  } catch {
    return null;
  }
}

export function hashOf(path: string): string {
  return `#${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** The reader chose a file. If it is the same one again, the address does not change. */
export const CHOSEN = "agiraph-file-chosen";
