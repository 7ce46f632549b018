import { createHash } from "node:crypto";
import { cut } from "./markdown.ts";
import { kindOf, type ReadNote } from "./survey.ts";
import type { FileText } from "./tool-text.ts";

const MOST_LINKS = 60;
const LONGEST_TITLE = 100;

/** Reads a file's text as far as rules can. `isThere` says whether a path exists; undefined if that is not known. */
export function noteOf(
  { path, bytes }: { path: string; bytes: number },
  { text, lines, whole }: FileText,
  isThere: (path: string) => boolean | undefined,
): ReadNote {
  const isText = kindOf(path).family === "text";
  const readable = isText ? withoutCode(text).split("\n") : [];
  const heading = readable.find((line) => /^\s{0,3}#{1,6}\s/.test(line));
  const first = text.split("\n").find((line) => /\p{L}/u.test(line) && !line.startsWith("#!")) ?? "";
  return {
    state: "read",
    path,
    bytes,
    whole,
    lines,
    words: text.match(/[\p{L}\p{N}][\p{L}\p{N}'’_-]*/gu)?.length ?? 0,
    title: cut(withoutMarkup(heading ?? first) || "(no words)", LONGEST_TITLE),
    quote: quoteFrom(readable),
    broken: linksIn(readable.join("\n")).filter((target) => isThere(resolved(path, target)) === false),
    todos: text.match(/\b(?:TODO|FIXME|XXX)\b/g)?.length ?? 0,
    fingerprint: createHash("sha256").update(text).digest("hex").slice(0, 16),
  };
}

/** The first whole sentence worth quoting. */
function quoteFrom(lines: readonly string[]): string | null {
  const prose = lines.filter((line) => /^[\p{L}"“‘(]/u.test(line)).map(withoutMarkup);
  const sentences = prose.flatMap((line) => line.split(/(?<=[.!?])\s+(?=["“‘(]?[\p{Lu}\p{N}])/u));
  return (
    sentences.find((sentence) => sentence.length >= 40 && sentence.length <= 280 && /[.!?]$/.test(sentence)) ?? null
  );
}

function withoutCode(text: string): string {
  return text.replace(/^(`{3,}|~{3,})[\s\S]*?^\1.*$/gm, "");
}

/** Each pattern reaches only so far: an unclosed bracket must not make it search the whole text again and again. */
function withoutMarkup(text: string): string {
  return text
    .replace(/!?\[([^\][]{0,200})\]\([^)]{0,400}\)/g, "$1")
    .replace(/^[\s#>*+-]+|[*`]+/g, "")
    .replace(/\s+/g, " ")
    .trim();
}

/** Targets in the project. */
function linksIn(text: string): string[] {
  const links = [...text.replace(/`[^`\n]*`/g, "").matchAll(/\]\(\s*<?([^()\s<>]{1,400})>?[^)\n]{0,200}\)/g)];
  const targets = links.flatMap(([, target = ""]) => (/^(?:[a-z][a-z0-9+.-]*:|\/|#)/i.test(target) ? [] : [target]));
  return [...new Set(targets)].slice(0, MOST_LINKS);
}

function resolved(from: string, target: string): string {
  const bare = decoded(target.replace(/[?#].*$/, ""));
  const parts = from.split("/").slice(0, -1);
  for (const part of bare.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.join("/");
}

function decoded(target: string): string {
  try {
    return decodeURIComponent(target);
  } catch {
    return target; // a stray % is part of the name
  }
}
