import { createHash } from "node:crypto";
import { z } from "zod";
import { kindOf } from "./file-kind.ts";
import { cut } from "./markdown.ts";
import { type Heading, readProse, tellingSentences, withoutMarkup } from "./prose.ts";
import { namesIn, sourceTitle } from "./source.ts";
import type { FileText } from "./tool-text.ts";
import { termsOf, wordsOf } from "./words.ts";

/** What the surveyor wrote down about one file. A field exists only for files that were read. */
const seen = { path: z.string(), bytes: z.int().nonnegative() };
export const fileNoteSchema = z.discriminatedUnion("state", [
  z.object({
    state: z.literal("read"),
    ...seen,
    /** False: only the first part was read, and the figures are about that part. */
    whole: z.boolean(),
    lines: z.int(),
    words: z.int(),
    title: z.string(),
    outline: z.array(z.object({ level: z.int(), text: z.string() })),
    /** Headings or names beyond those in `outline`. */
    more: z.int(),
    sentences: z.array(z.string()),
    /** The most frequent telling words and how often they occur, most frequent first. */
    terms: z.record(z.string(), z.int()),
    /** Targets in the project, as written. */
    links: z.array(z.string()),
    hosts: z.array(z.string()),
    languages: z.array(z.string()),
    todos: z.int(),
    fingerprint: z.string(),
  }),
  z.object({ state: z.literal("empty"), ...seen }),
  z.object({ state: z.literal("binary"), ...seen }),
  /** There was no room for it in this survey. */
  z.object({ state: z.literal("skipped"), ...seen }),
  z.object({ state: z.literal("refused"), ...seen, why: z.string() }),
]);
export type FileNote = z.infer<typeof fileNoteSchema>;
export type ReadNote = Extract<FileNote, { state: "read" }>;

const MOST_HEADINGS = 14;
const MOST_SENTENCES = 2;
/** Of each file; themes are found among these. */
export const TERMS_KEPT = 80;
const MOST_LINKS = 60;
const LONGEST_TITLE = 100;

/** Reads a file's text as far as rules can. */
export function noteOf(path: string, bytes: number, { text, lines, whole }: FileText): ReadNote {
  const { family } = kindOf(path);
  const prose = readProse(family === "prose" ? text : "");
  const headings = family === "prose" ? prose.headings : namesIn(path, text);
  const words = wordsOf(
    family === "prose" ? [...headings.map(({ text }) => text), ...prose.paragraphs, ...prose.cells].join("\n") : text,
  );
  const terms = termsOf(words, 200);
  const title = family === "prose" ? titleOf(text, headings) : sourceTitle(path, text);
  const targets = [...new Set(prose.links)];
  return {
    state: "read",
    path,
    bytes,
    whole,
    lines,
    words: family === "prose" ? wordsOf(text).length : words.length,
    title: cut(title || "(nothing but signs)", LONGEST_TITLE),
    outline: headings.slice(0, MOST_HEADINGS).map(({ level, text }) => ({ level, text: cut(text, LONGEST_TITLE) })),
    more: Math.max(headings.length - MOST_HEADINGS, 0),
    sentences: tellingSentences(prose.paragraphs, terms, MOST_SENTENCES),
    terms: Object.fromEntries(terms.slice(0, TERMS_KEPT)),
    links: targets.filter((link) => !/^(?:[a-z][a-z0-9+.-]*:|\/\/|#)/i.test(link)).slice(0, MOST_LINKS),
    hosts: [...new Set(targets.flatMap(hostOf))].slice(0, MOST_LINKS),
    languages: [...new Set(prose.languages)].filter((language) => language !== "unnamed"),
    todos: text.match(/\b(?:TODO|FIXME|XXX)\b/g)?.length ?? 0,
    fingerprint: createHash("sha256").update(text).digest("hex").slice(0, 16),
  };
}

/** The first heading, or else the first line that says anything. */
function titleOf(text: string, headings: readonly Heading[]): string {
  const lines = text.split("\n").map((line) => withoutMarkup(line.replace(/^\s*>\s*/, "")));
  return headings[0]?.text || (lines.find((line) => /[\p{L}\p{N}]/u.test(line)) ?? "");
}

function hostOf(link: string): string[] {
  const host = /^(?:https?:)?\/\/([^/?#:@]+)/i.exec(link)?.[1];
  return host ? [host.toLowerCase()] : [];
}
