/** Small things kept in the browser: drafts, what was read, what is folded. Without storage they last as long as the page. */
const PREFIX = "agiraph.";
const meanwhile = new Map<string, string>();

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(PREFIX + key);
  } catch {
    return meanwhile.get(key) ?? null;
  }
}

export function keep(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, value);
  } catch {
    if (value === null) meanwhile.delete(key);
    else meanwhile.set(key, value);
  }
}
