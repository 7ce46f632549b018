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

/** Somebody chose a file, the same one perhaps as before: then the address does not change. */
export const CHOSEN = "agiraph-file-chosen";
