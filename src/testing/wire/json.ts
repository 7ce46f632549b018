/** Careful looks into what a client sent: a wrong shape reads as nothing, since the server must never crash on it. */
export type JsonRecord = Readonly<Record<string, unknown>>;

export function recordOf(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}

export function recordsOf(value: unknown): JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The words of a content that is a string, or a list of parts with a `text`. */
export function contentWords(content: unknown): string {
  if (typeof content === "string") return content;
  return recordsOf(content)
    .map((part) => stringOf(part.text))
    .join("");
}

/** Parsed if it is JSON, as it stands if not. */
export function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
