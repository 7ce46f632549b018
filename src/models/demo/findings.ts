import { kindOf } from "./file-kind.ts";
import type { FileNote, ReadNote } from "./file-note.ts";
import type { Place, Survey } from "./survey.ts";
import { sharedTerms } from "./words.ts";

/** What a survey says as a whole. Derived, so that one survey and several joined are judged alike. */
export interface Findings {
  files: number;
  folders: number;
  bytes: number;
  lines: number;
  words: number;
  read: ReadNote[];
  kinds: { name: string; files: number }[];
  themes: { term: string; count: number; texts: number }[];
  biggest: FileNote | undefined;
  empty: FileNote[];
  binary: FileNote[];
  skipped: FileNote[];
  refused: Extract<FileNote, { state: "refused" }>[];
  partly: ReadNote[];
  copies: string[][];
  broken: { from: string; target: string }[];
  todos: { path: string; count: number }[];
}

const MOST_THEMES = 10;

export function findingsOf(survey: Survey): Findings {
  const { notes } = survey;
  const read = notes.filter((note) => note.state === "read");
  const total = (figure: (note: ReadNote) => number) => read.reduce((sum, note) => sum + figure(note), 0);
  const inState = (state: FileNote["state"]) => notes.filter((note) => note.state === state);
  return {
    files: notes.length,
    folders: new Set(notes.map(({ path }) => folderOf(path))).size,
    bytes: notes.reduce((sum, { bytes }) => sum + bytes, 0),
    lines: total(({ lines }) => lines),
    words: total(({ words }) => words),
    read,
    kinds: kindsOf(notes),
    themes: sharedTerms(
      read.map(({ terms }) => Object.entries(terms)),
      MOST_THEMES,
    ),
    biggest: notes.toSorted((a, b) => b.bytes - a.bytes || (a.path < b.path ? -1 : 1))[0],
    empty: inState("empty"),
    binary: inState("binary"),
    skipped: inState("skipped"),
    refused: notes.filter((note) => note.state === "refused"),
    partly: read.filter(({ whole }) => !whole),
    copies: copiesIn(read),
    broken: brokenLinks(survey, read),
    todos: read.filter(({ todos }) => todos > 0).map(({ path, todos }) => ({ path, count: todos })),
  };
}

function kindsOf(notes: readonly FileNote[]): Findings["kinds"] {
  const counts = new Map<string, number>();
  for (const { path } of notes) counts.set(kindOf(path).name, (counts.get(kindOf(path).name) ?? 0) + 1);
  return [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([name, files]) => ({ name, files }));
}

function copiesIn(read: readonly ReadNote[]): string[][] {
  const whole = Map.groupBy(
    read.filter((note) => note.whole),
    ({ fingerprint, bytes }) => `${fingerprint} ${bytes}`,
  );
  return [...whole.values()].filter((notes) => notes.length > 1).map((notes) => notes.map(({ path }) => path));
}

/** Only what can be judged: targets inside the places that were listed to their end. */
function brokenLinks(survey: Survey, read: readonly ReadNote[]): Findings["broken"] {
  const there = new Set([...survey.notes.map(({ path }) => path), ...survey.folders, ...survey.others]);
  const known = survey.places.filter(({ path }) => !survey.cut.includes(path));
  return read.flatMap(({ path, links }) =>
    links.flatMap((target) => {
      const led = resolved(path, target);
      if (led === undefined || !known.some((place) => covers(place, led))) return [];
      return spellings(led).some((spelling) => there.has(spelling)) ? [] : [{ from: path, target }];
    }),
  );
}

function covers({ path, reach }: Place, target: string): boolean {
  if (reach === "file") return false;
  if (reach === "own") return folderOf(target) === path;
  return target.startsWith(`${path}/`);
}

/** Links between pages often leave out the ending. */
function spellings(path: string): string[] {
  return [path, ...[".md", ".html", "/index.md", "/index.html", "/README.md"].map((ending) => `${path}${ending}`)];
}

function resolved(from: string, target: string): string | undefined {
  const bare = decoded(target.replace(/[?#].*$/, ""));
  // A path from the root means something else on every site, and hidden names are not shown to us.
  if (!bare || bare.startsWith("/") || bare.includes("\\")) return undefined;
  const parts = from.split("/").slice(0, -1);
  for (const part of bare.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.length > 1) parts.pop();
    else return undefined;
  }
  const isHidden = parts.some((part) => part.startsWith(".") || part === "node_modules");
  return isHidden || FORGE.test(bare) ? undefined : parts.join("/");
}

/** Pages beside the code on a forge, which people link to as if they were files. */
const FORGE = /^(?:\.\.\/)+(?:issues|pulls?|wiki|releases|actions|discussions|blob|tree|commits?)(?:\/|$)/;

function decoded(target: string): string | undefined {
  try {
    return decodeURIComponent(target);
  } catch {
    return target; // a stray % is part of the name
  }
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("/"), 0));
}
