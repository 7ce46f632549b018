/**
 * A path as git prints it without -z: in quotes with C escapes where it has a quote, a backslash, a control character
 * or bytes beyond ASCII. Bytes that are not UTF-8 become U+FFFD.
 */
export function unquote(text: string): string {
  if (!text.startsWith('"') || !text.endsWith('"') || text.length < 2) return text;
  const bytes: number[] = [];
  const inner = text.slice(1, -1);
  for (let at = 0; at < inner.length; at++) {
    if (inner[at] !== "\\") {
      bytes.push(...Buffer.from(inner[at] ?? "", "utf8"));
      continue;
    }
    const octal = /^[0-7]{3}/.exec(inner.slice(at + 1))?.[0];
    if (octal !== undefined) {
      bytes.push(Number.parseInt(octal, 8));
      at += 3;
    } else {
      at += 1;
      const escaped = inner[at] ?? "";
      bytes.push(ESCAPES[escaped] ?? escaped.charCodeAt(0));
    }
  }
  return Buffer.from(bytes).toString("utf8");
}

const ESCAPES: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, "\\": 92 };
