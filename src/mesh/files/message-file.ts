import { isMap, parseDocument } from "yaml";
import { type MessageHeader, messageHeaderSchema } from "../../protocol/index.ts";
import { fieldIssueWords } from "./issue-text.ts";

/**
 * A message is a markdown file with a header.
 *
 * MESSAGE-FILE-1. Whatever the bytes are, parsing ends: with a message, or with the reason why it is not one. Nothing in
 *     it is run.
 * MESSAGE-FILE-2. A header is lines of `name: value`, and every value is a string; anchors, aliases, tags, blocks,
 *     lists, maps, duplicate keys and unknown fields are refused.
 * MESSAGE-FILE-3. What `format` writes, `parse` reads back unchanged.
 */
export function parse(text: string): ParsedMessage {
  if (text.includes("\0")) return bad("It holds a NUL character, so it is not text.");
  const opening = /^\uFEFF?---[ \t]*\r?\n/.exec(text);
  if (!opening) return bad('It has no header: the first line must be "---" and nothing else.');
  const begin = opening[0].length;
  const rest = text.slice(begin, begin + MAX_HEADER + 8);
  const end = /(?:^|\n)---[ \t]*\r?(?:\n|$)/.exec(rest);
  const isCut = end !== null && !end[0].endsWith("\n") && begin + end.index + end[0].length < text.length;
  if (end === null ? rest.length > MAX_HEADER : end.index > MAX_HEADER || isCut)
    return bad(`Its header has more than ${MAX_HEADER} characters.`);
  if (end === null) return bad('Its header is never closed by a second "---".');
  const fields = fieldsOf(rest.slice(0, end.index).replace(/\r(?=\n|$)/g, ""));
  if (!fields.ok) return fields;
  const header = messageHeaderSchema.safeParse(fields.value);
  if (!header.success)
    return bad(`Its header is wrong: ${fieldIssueWords(header.error, fields.value, messageHeaderSchema)}.`);
  return { ok: true, header: header.data, body: text.slice(begin + end.index + end[0].length) };
}

export function format(header: MessageHeader, body: string): string {
  const lines = FIELDS.flatMap((name) => (header[name] === undefined ? [] : [`${name}: ${written(header[name])}\n`]));
  return `---\n${lines.join("")}---\n${body}`;
}

export type ParsedMessage = { ok: true; header: MessageHeader; body: string } | { ok: false; reason: string };

/** The first heading of a message, or its first words: a title for people. */
export function titleOf(body: string): string {
  const line = body.split("\n", 200).find((one) => one.trim() !== "") ?? "";
  return (
    line
      .replace(/^#+\s*/, "")
      .trim()
      .slice(0, 120) || "message"
  );
}

export const MAX_HEADER = 64 * 1024;
export const MAX_MESSAGE = 1024 * 1024;
/** As written, escapes included. */
const MAX_VALUE = 2_000;

const FIELDS = Object.keys(messageHeaderSchema.shape) as (keyof MessageHeader)[];

type ParsedFields = { ok: true; value: Record<string, string> } | { ok: false; reason: string };

/**
 * The YAML parser is made for trusted input, so it gets only what cannot take it long: lines of `name: value`, each value
 * on its own line. Most headers are so plain that they need no parser.
 */
function fieldsOf(header: string): ParsedFields {
  const plain = new Map<string, string>();
  let isPlain = true;
  for (const line of header.split("\n")) {
    if (line.trim() === "" || /^[ \t]*#/.test(line)) continue;
    const name = /^[A-Za-z][A-Za-z0-9_-]{0,63}(?=:(?:[ \t]|$))/.exec(line)?.[0];
    if (name === undefined)
      return bad(`Its header has a line that is not "name: value": ${JSON.stringify(shown(line))}`);
    const value = line.slice(name.length + 1).trim();
    if (value.length > MAX_VALUE) return bad(`Its header has more than ${MAX_VALUE} characters for "${name}".`);
    if (/^[&*!|>%@`{[]|^[-?](?:\s|$)/.test(value))
      return bad(
        `Its header has no plain value for "${name}"; anchors, aliases, tags, blocks, lists and maps are not taken.`,
      );
    if (plain.has(name)) return bad(`Its header has "${name}" twice.`);
    isPlain &&= isSimple(value);
    plain.set(name, value);
  }
  if (plain.size === 0) return bad("Its header has no fields.");
  return isPlain ? { ok: true, value: Object.fromEntries(plain) } : byYaml(header);
}

/** By the schema in which every scalar is a string: a date stays as it was written and `no` is not false. */
function byYaml(header: string): ParsedFields {
  try {
    const document = parseDocument(header, { schema: "failsafe", strict: true, uniqueKeys: true, logLevel: "silent" });
    const [problem] = [...document.errors, ...document.warnings];
    if (problem) return bad(`Its header is not YAML: ${problem.message.split("\n", 1)[0]}`);
    if (!isMap(document.contents)) return bad("Its header has no fields.");
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    return { ok: true, value: value as Record<string, string> };
  } catch (error) {
    const why = error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : String(error);
    return bad(`Its header cannot be read: ${why}`);
  }
}

/** A value that needs no quotes in YAML. */
function isSimple(value: string): boolean {
  return /^[A-Za-z0-9](?:[A-Za-z0-9 _.:/~+@-]*[A-Za-z0-9_./~+@-])?$/.test(value) && !value.includes(": ");
}

/** JSON strings are YAML strings; what a reader might take for a line break is escaped as well. */
function written(value: string): string {
  if (isSimple(value)) return value;
  return JSON.stringify(value).replace(
    /[\u007f-\u00a0\u2028\u2029\ufeff]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function shown(line: string): string {
  return line.length > 60 ? `${line.slice(0, 60)}…` : line;
}

function bad(reason: string): { ok: false; reason: string } {
  return { ok: false, reason };
}
