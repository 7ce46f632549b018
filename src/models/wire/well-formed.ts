/**
 * Half a character (a lone surrogate) becomes U+FFFD: providers refuse a request with one, and in a history it would make
 * every later request unsendable. They come from files that a tool read, from replies that were cut off, and from
 * escapes (`\ud83d`) that a model wrote.
 */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

/** The same for every text in a value of JSON, names included. A value that is all well-formed is returned as it is. */
export function wellFormedJson<T>(value: T): T {
  const text = JSON.stringify(value);
  const repaired = text?.replace(ESCAPES, (whole, half) => (half === undefined ? whole : "\\ufffd"));
  return repaired === text ? value : (JSON.parse(repaired) as T);
}

/** `JSON.stringify` escapes a surrogate only if it is alone. An escaped backslash is one escape too, so it is passed over. */
const ESCAPES = /\\(?:u(d[89a-f][0-9a-f]{2})|.)/g;
