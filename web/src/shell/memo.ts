/**
 * Small values kept in the browser: drafts, what was read, what is collapsed. Read from storage once, since they are
 * needed in every frame; without storage they last as long as the page.
 */
const PREFIX = "agiraph.";
const known = new Map<string, string | null>();

export function remembered(key: string): string | null {
  const value = known.get(key);
  if (value !== undefined) return value;
  const stored = fromStorage(key);
  known.set(key, stored);
  return stored;
}

export function keep(key: string, value: string | null): void {
  known.set(key, value);
  unkept.delete(key);
  try {
    if (value === null) localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, value);
  } catch {
    // No storage, or none left: it lasts as long as the page.
    if (value !== null && key.startsWith("draft.")) unkept.add(key);
  }
}

/** Drafts that would go with the page. */
const unkept = new Set<string>();
window.addEventListener("beforeunload", (event) => {
  if (unkept.size > 0) event.preventDefault();
});

function fromStorage(key: string): string | null {
  try {
    return localStorage.getItem(PREFIX + key);
  } catch {
    return null;
  }
}

// Another tab has read something.
window.addEventListener("storage", ({ key }) => {
  if (key?.startsWith(PREFIX)) known.delete(key.slice(PREFIX.length));
});
