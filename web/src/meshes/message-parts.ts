/** A message file: its header in one line, and its text. */
export function partsOf(text: string): { header: string; body: string } {
  const [, header, body] = /^\uFEFF?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)(.*)$/s.exec(text) ?? [];
  if (header === undefined || body === undefined) return { header: "", body: text };
  return { header: header.split(/\r?\n/).join(" · "), body };
}

export const bodyOf = (text: string): string => partsOf(text).body.trim();
