import { withDerivedDatabase } from "../store/disk/derived-database.ts";
import { type MemoryFiles, MOST_MEMORY_FILES, type StampedFile } from "../store/run/memory-files.ts";
import { FileNotFound, ScopeRefusal } from "../store/scope/scope-refusal.ts";
import { wallTime } from "./dates.ts";
import { type Embedder, fused, ranksByMeaning } from "./meaning.ts";
import type { SectionHit } from "./ranking.ts";
import { termsToFind } from "./search-terms.ts";
import { SCHEMA, SectionIndex } from "./section-index.ts";

/**
 * Full-text search in a memory.
 *
 * MEMORY-SEARCH-1. The files are the truth: what somebody edited by hand a moment ago is found, and what they removed
 *     is not.
 * MEMORY-SEARCH-2. The index is disposable. If it is deleted, damaged, of another version or not writable, the answer
 *     is the same.
 * MEMORY-SEARCH-3. Results fill a budget of tokens; the best one is always included, and so are as many as were asked
 *     for.
 */
export interface FoundSection {
  path: string;
  headings: readonly string[];
  /** Where it stands in its file, from 1. */
  from_line: number;
  to_line: number;
  text: string;
  /** Of when it is: the day that its heading or its file names, else when the file was last changed. */
  day: string;
  score: number;
}

export interface SearchOptions {
  /** About how much the answer may take. */
  tokens: number;
  /** The person's: the day of a file that names none is the one on which it was changed there. */
  timeZone: string;
  /** So many have room in any case. */
  least?: number;
  /** Use what index there is, and change nothing on disk. */
  look?: boolean;
  embedder?: Embedder | undefined;
  signal?: AbortSignal;
}

/** The longest part of a file that is read; nobody keeps more in one place. */
const MAX_READ_BYTES = 8 * 1024 * 1024;
const BYTES_PER_TOKEN = 4;
/** Of sections that have none of the words and stand beside one that has: only near the top, and so many. */
const MOST_BESIDE = 3;
const NEAR_THE_TOP = 10;

/** What a search needs from a memory. */
export type Searchable = Pick<MemoryFiles, "list" | "indexFile"> & { scope: Pick<MemoryFiles["scope"], "readFile"> };

export async function searchMemory(
  memory: Searchable,
  query: string,
  { tokens, timeZone, least = 1, look = false, embedder, signal }: SearchOptions,
): Promise<FoundSection[]> {
  const terms = termsToFind(query);
  if (terms.length === 0) return [];
  const files = (await memory.list()).filter(({ path }) => !isListing(path));
  const texts = new Map<string, string | undefined>();
  const read = async (path: string) => {
    const text = texts.get(path) ?? (await textOfNote(memory, path));
    texts.set(path, text);
    return text;
  };
  const find = async (index: SectionIndex) => {
    const byWords = await index.search(terms);
    const sectionAt = async (id: number) => {
      const place = index.place(id);
      const whole = place && (await read(place.path));
      const text = place && whole?.slice(place.from, place.to).trim();
      if (!place || !whole || !text) return undefined;
      const from_line = lineAt(whole, whole.indexOf(text, place.from));
      const to_line = from_line + lineAt(text, text.length) - 1;
      const day = wallTime(place.at, place.namesDay ? "UTC" : timeZone).slice(0, 10);
      return { path: place.path, headings: place.headings, from_line, to_line, text, day };
    };
    const textAt = async (id: number) => (await sectionAt(id))?.text;
    const byMeaning = embedder ? await ranksByMeaning(index, query, embedder, textAt, signal) : [];
    return withinBudget(fused(byWords, byMeaning), sectionAt, tokens, least);
  };
  const database = { path: memory.indexFile, schema: SCHEMA };
  if (look) {
    const fresh = await withDerivedDatabase({ ...database, look }, async (opened) => {
      const index = new SectionIndex(opened);
      const { changed, gone } = index.differences(files);
      return changed.length + gone.length === 0 ? find(index) : undefined;
    });
    if (fresh) return fresh;
  }
  return withDerivedDatabase(look ? { ...database, path: null } : database, async (opened) => {
    const index = new SectionIndex(opened);
    await index.refresh(files, (path) => textOfNote(memory, path));
    return find(index);
  });
}

/** Whether this file only lists other files. */
export function isListing(path: string): boolean {
  return path === "index.md" || path === "person/index.md";
}

/** Which part of a memory is too large to be searched, in words; empty if all of it is searched. */
export function unsearched(files: readonly StampedFile[]): string[] {
  const long = files.filter(({ bytes }) => bytes > MAX_READ_BYTES);
  const megabytes = MAX_READ_BYTES / 1024 ** 2;
  return [
    ...long.map(({ path }) => `Of ${path} only the first ${megabytes} MB are searched. Split it by topic.`),
    ...(files.length >= MOST_MEMORY_FILES
      ? [`Only ${MOST_MEMORY_FILES} files are searched, and there are more. Put what belongs together into one file.`]
      : []),
  ];
}

async function withinBudget(
  hits: readonly SectionHit[],
  sectionAt: (id: number) => Promise<Omit<FoundSection, "score"> | undefined>,
  tokens: number,
  least: number,
): Promise<FoundSection[]> {
  const found: FoundSection[] = [];
  let room = tokens * BYTES_PER_TOKEN;
  let beside = 0;
  for (const [at, { id, score, isBeside }] of hits.entries()) {
    if (isBeside && (at >= NEAR_THE_TOP || ++beside > MOST_BESIDE)) continue;
    const section = await sectionAt(id);
    if (!section) continue;
    room -= Buffer.byteLength(section.text) + section.path.length;
    if (room < 0 && found.length >= Math.max(1, least)) break;
    found.push({ ...section, score });
  }
  return found;
}

function lineAt(text: string, place: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < place; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

/** Undefined if the file no longer exists, or may not be opened. */
export async function textOfNote(memory: Pick<Searchable, "scope">, path: string): Promise<string | undefined> {
  try {
    const { bytes } = await memory.scope.readFile(path, { maxBytes: MAX_READ_BYTES });
    return bytes.toString("utf8");
  } catch (error) {
    if (error instanceof FileNotFound || error instanceof ScopeRefusal) return undefined;
    throw error;
  }
}
