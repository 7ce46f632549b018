import { isMap, parseDocument, stringify } from "yaml";
import { type MessageHeader, messageHeaderSchema } from "../protocol/index.ts";

/**
 * A message is a markdown file with a header.
 *
 * M1. Whatever the bytes are, parsing ends: with a message, or with the reason why it is none. Nothing in it is run.
 * M2. Every value of a header is a string; aliases, tags, anchors, duplicate keys and unknown fields are refused.
 * M3. What `format` writes, `parse` reads back unchanged.
 */
export function parse(text: string): ParsedMessage {
  if (text.includes("\0")) return bad("It holds a NUL character, so it is no text.");
  const lines = /^\uFEFF?---[ \t]*\r?\n/.exec(text);
  if (!lines) return bad('It has no header: the first line must be "---".');
  const begin = lines[0].length;
  const close = /^---[ \t]*(?:\r?\n|$)/m;
  const rest = text.slice(begin, begin + MAX_HEADER + 5);
  const end = close.exec(rest);
  if (!end) {
    return rest.length > MAX_HEADER
      ? bad(`Its header has more than ${MAX_HEADER} characters.`)
      : bad('Its header is never closed by a second "---".');
  }
  const fields = fieldsOf(rest.slice(0, end.index));
  if (!fields.ok) return fields;
  const header = messageHeaderSchema.safeParse(fields.value);
  if (!header.success) {
    const [issue] = header.error.issues;
    const where = issue && issue.path.length > 0 ? `"${issue.path.join(".")}": ` : "";
    return bad(`Its header is wrong: ${where}${issue?.message ?? "not as it should be"}.`);
  }
  return { ok: true, header: header.data, body: text.slice(begin + end.index + end[0].length) };
}

export function format(header: MessageHeader, body: string): string {
  const fields = Object.fromEntries(
    FIELDS.flatMap((name) => (header[name] === undefined ? [] : [[name, header[name]]])),
  );
  return `---\n${stringify(fields, { lineWidth: 0, defaultStringType: "PLAIN", schema: "failsafe" })}---\n${body}`;
}

export type ParsedMessage = { ok: true; header: MessageHeader; body: string } | { ok: false; reason: string };

/** The first heading of a message, or its first words: what a person calls it. */
export function titleOf(body: string): string {
  const line = body.split("\n", 200).find((one) => one.trim() !== "") ?? "";
  return (
    line
      .replace(/^#+\s*/, "")
      .trim()
      .slice(0, 120) || "message"
  );
}

/** `YYMMDDHHMM-0001-words-of-the-task.md`: the seed's pattern and a counter, so that two in a minute are two. */
export function fileNameOf(at: Date, counter: number, title: string): string {
  const two = (number: number) => String(number).padStart(2, "0");
  const stamp = [at.getFullYear() % 100, at.getMonth() + 1, at.getDate(), at.getHours(), at.getMinutes()]
    .map(two)
    .join("");
  return `${stamp}-${String(counter).padStart(4, "0")}-${sanitized(title)}.md`;
}

export function sanitized(title: string): string {
  const plain = title
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 50)
    .replace(/-+$/, "");
  return plain || "message";
}

export const MAX_HEADER = 64 * 1024;
export const MAX_MESSAGE = 1024 * 1024;

const FIELDS = ["from", "to", "type", "status", "msg-id", "timestamp", "task", "step", "in-reply-to"] as const;

type Fields = { ok: true; value: Record<string, string> } | { ok: false; reason: string };

/** By the schema in which every scalar is a string: a date stays as it was written and `no` is not false. */
function fieldsOf(yaml: string): Fields {
  // The parser is built for trust; what it would take long over is refused before.
  if (/(^|[\s,[{:])[&*!]/m.test(yaml))
    return bad("Its header uses an anchor, an alias or a tag; only plain fields are taken.");
  if (/^[^\S\n]*[?%]/m.test(yaml))
    return bad("Its header uses a complex key or a directive; only plain fields are taken.");
  if (nesting(yaml) > 4) return bad("Its header is nested; only plain fields are taken.");
  try {
    const document = parseDocument(yaml, { schema: "failsafe", strict: true, uniqueKeys: true, logLevel: "silent" });
    const [problem] = [...document.errors, ...document.warnings];
    if (problem) return bad(`Its header is no YAML: ${problem.message.split("\n", 1)[0]}`);
    if (!isMap(document.contents)) return bad("Its header holds no fields.");
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    return { ok: true, value: value as Record<string, string> };
  } catch (error) {
    return bad(
      `Its header cannot be read: ${error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : String(error)}`,
    );
  }
}

function nesting(yaml: string): number {
  let deepest = 0;
  let depth = 0;
  for (const sign of yaml) {
    if (sign === "[" || sign === "{") deepest = Math.max(deepest, ++depth);
    else if (sign === "]" || sign === "}") depth = Math.max(0, depth - 1);
  }
  const indented = yaml.match(/^[ \t]+(?=\S)/gm)?.reduce((most, indent) => Math.max(most, indent.length), 0) ?? 0;
  return deepest + Math.floor(indented / 32);
}

function bad(reason: string): { ok: false; reason: string } {
  return { ok: false, reason };
}
