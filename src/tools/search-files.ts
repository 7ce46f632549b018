import { z } from "zod";
import type { ListedFile, Listing, Scope } from "../store/scope/scope.ts";
import { FileNotFound, type RefusalReason, ScopeRefusal } from "../store/scope/scope-refusal.ts";
import { fileErrorsAsResults } from "./file-refusals.ts";
import { globMatcher, startsOf } from "./glob-match.ts";
import { type GrepLine, GrepThread, TooSlow, UnusablePattern } from "./grep.ts";
import { defineTool, refusal, type Tool, type ToolOutput } from "./tool.ts";

const MOST_FILES = 20_000;
const MOST_HITS = 200;
const MOST_CONTEXT = 5;
const MOST_SHOWN = 500;
const MOST_CHARS = 40_000;
const MOST_FILE_BYTES = 8 * 1024 * 1024;

const pattern = z.string().min(1).max(1000);
/** A path as the listing shows it: "." and "./" are the top. */
const path = z.string().default("").transform(withoutDots);
/** Explained once, in the text of `grep`: it is in every request. */
const ignored = z.boolean().default(false);
const toGrep = z.object({
  pattern,
  path,
  glob: z.string().min(1).max(200).optional(),
  ignore_case: z.boolean().default(false),
  context: z.int().min(0).default(0).describe(`At most ${MOST_CONTEXT}.`),
  ignored,
});
const toGlob = z.object({ pattern: z.string().min(1).max(200), path, ignored });

export interface SearchBounds {
  /** For all files together. */
  timeoutMs: number;
}

/**
 * Finds files by name and by content, among what one participant may read.
 *
 * SEARCH-1. Only what a scope shows is searched, not: hidden files of the project, other people's folders.
 * SEARCH-2. Time, files, file sizes, matches and line lengths are limited, and the answer says what was left out.
 * SEARCH-3. A pattern runs in a thread with a time limit: no regular expression can block us.
 * SEARCH-4. What git ignores is neither searched nor entered, unless it is asked for or named as the path.
 */
export function searchTools(scope: Scope, bounds: SearchBounds = { timeoutMs: 20_000 }): Tool[] {
  return [
    defineTool({
      name: "grep",
      description: "Search files by JavaScript RegExp; ignored: also what git ignores.",
      repeatable: true,
      readOnly: true,
      parameters: toGrep,
      run: (order, signal) => fileErrorsAsResults(signal, () => grep(scope, order, bounds, signal)),
    }),
    defineTool({
      name: "glob",
      description: "Find files by name, as **/*.ts",
      repeatable: true,
      readOnly: true,
      parameters: toGlob,
      run: (order, signal) => fileErrorsAsResults(signal, () => glob(scope, order)),
    }),
  ];
}

async function glob(scope: Scope, { pattern, path: at, ignored }: z.infer<typeof toGlob>): Promise<string> {
  const found = await filesFor(scope, { at, glob: pattern, ignored });
  const matches = matcherFor(pattern, at);
  const matching = found.files.filter(({ path }) => matches(path));
  const shown = matching.slice(0, MOST_SHOWN).map(({ path, bytes }) => `${path} (${bytes} bytes)`);
  const notes = [
    matching.length === 0 ? `No file of ${found.files.length} matches.` : "",
    matching.length > MOST_SHOWN ? `[${matching.length - MOST_SHOWN} more are not shown. Narrow the pattern.]` : "",
    ...leftOut(found, matching.length === 0),
  ];
  return [...shown, ...notes].filter(Boolean).join("\n");
}

/** That something is ignored is said only where it may be what was looked for. */
function leftOut({ isCut, skipped, isIgnoringPartly }: FilesBelow, isNothingFound: boolean): string[] {
  const names = `${skipped} ignored ${skipped === 1 ? "name was" : "names were"}`;
  return [
    isCut ? "[Not all files were looked at, there are too many. Name a folder as path.]" : "",
    isNothingFound && skipped > 0 ? `[${names} left out (.gitignore); "ignored": true searches them too.]` : "",
    isIgnoringPartly ? "[A .gitignore is too large or too complex: a part of it was not applied.]" : "",
  ];
}

/** A pattern is about the path as it is shown, or as it is seen from the folder that was named. */
function matcherFor(wanted: string, at: string): (path: string) => boolean {
  const matches = globMatcher(wanted);
  const prefix = `${at}/`;
  return (path) => matches(path) || (path.startsWith(prefix) && matches(path.slice(prefix.length)));
}

interface FilesBelow {
  files: ListedFile[];
  isCut: boolean;
  /** A file was named, not a folder. */
  isFile: boolean;
  /** So many ignored names. */
  skipped: number;
  isIgnoringPartly: boolean;
}

interface Where {
  at: string;
  glob: string | undefined;
  ignored: boolean;
}

/**
 * The files that a pattern may be about. From the top those below its own first names are looked at: short names (scratch/,
 * agent/) are listed only where they are named, as what they lead to stands elsewhere too.
 */
async function filesFor(scope: Scope, { at, glob, ignored }: Where): Promise<FilesBelow> {
  if (at !== "" || glob === undefined) return filesBelow(scope, at, ignored);
  const found: FilesBelow[] = [];
  for (const start of startsOf(glob)) {
    try {
      found.push(await filesBelow(scope, start, ignored));
    } catch (error) {
      if (!(error instanceof ScopeRefusal || error instanceof FileNotFound)) throw error;
    }
  }
  return found.length === 0 ? filesBelow(scope, at, ignored) : together(found);
}

/** The files below a folder, or the file itself. At the top the project is opened too; the other short names lead to what is there anyway. */
async function filesBelow(scope: Scope, at: string, ignored: boolean): Promise<FilesBelow> {
  const how = ignored ? ("opened" as const) : ("skipped" as const);
  const options = { recursive: true, limit: MOST_FILES, withoutShortNames: true, ignored: how };
  const unless = (reason: RefusalReason) => (error: unknown) => {
    if (error instanceof ScopeRefusal && error.reason === reason) return null;
    throw error;
  };
  const listing = await scope.list(at, options).catch(unless("wrong_kind"));
  if (!listing) return { ...NOTHING, files: [{ path: at, kind: "file", bytes: 0 }], isFile: true };
  // Refused where there is none.
  const project = at === "" ? await scope.list("project", options).catch(unless("outside")) : null;
  return together([listing, ...(project ? [project] : [])].map(filesIn));
}

const NOTHING: FilesBelow = { files: [], isCut: false, isFile: false, skipped: 0, isIgnoringPartly: false };

function filesIn({ entries, more, skipped = 0, isIgnoringPartly = false }: Listing): FilesBelow {
  const files = entries.filter(({ kind }) => kind === "file");
  return { files, isCut: more, isFile: false, skipped, isIgnoringPartly };
}

function together(found: readonly FilesBelow[]): FilesBelow {
  const files = new Map(found.flatMap((each) => each.files).map((file) => [file.path, file]));
  return {
    files: [...files.values()],
    isCut: found.some(({ isCut }) => isCut),
    isFile: false,
    skipped: found.reduce((sum, { skipped }) => sum + skipped, 0),
    isIgnoringPartly: found.some(({ isIgnoringPartly }) => isIgnoringPartly),
  };
}

function withoutDots(path: string): string {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  return `${path.startsWith("/") ? "/" : ""}${names.join("/")}`;
}

interface Searched {
  lines: string[];
  hits: number;
  looked: number;
  tooBig: number;
  /** Why it ended before the last file. */
  ended: string;
}

async function grep(
  scope: Scope,
  order: z.infer<typeof toGrep>,
  { timeoutMs }: SearchBounds,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const below = await filesFor(scope, { at: order.path, glob: order.glob, ignored: order.ignored });
  const { files, isFile } = below;
  const matches = order.glob === undefined ? isNoRecord : matcherFor(order.glob, order.path);
  const wanted = isFile ? files : files.filter(({ path }) => matches(path));
  await using thread = new GrepThread(order, { timeoutMs, signal });
  try {
    const found = await search(scope, wanted, isFile, order, thread);
    const { looked } = found;
    const notes = [
      found.hits === 0 ? `No match in ${looked} ${looked === 1 ? "file" : "files"}.` : "",
      found.ended && `[${found.ended}]`,
      found.tooBig > 0 ? `[${found.tooBig} files of more than 8 MB were left out: use bash.]` : "",
      ...leftOut(below, found.hits === 0),
    ];
    return [...found.lines, ...notes].filter(Boolean).join("\n");
  } catch (error) {
    if (error instanceof UnusablePattern) return refusal(`Not searched: ${error.message}`);
    throw error;
  }
}

/** Conversations and logs hold every word that was ever searched for; a search that wants them names them. */
function isNoRecord(path: string): boolean {
  return path.startsWith("project/") || !/\.jsonl(\.|$)/.test(path);
}

async function search(
  scope: Scope,
  files: readonly ListedFile[],
  isFile: boolean,
  { context }: Pick<z.infer<typeof toGrep>, "context">,
  thread: GrepThread,
): Promise<Searched> {
  const found: Searched = { lines: [], hits: 0, looked: 0, tooBig: 0, ended: "" };
  let characters = 0;
  for (const { path } of files) {
    const room = MOST_HITS - found.hits;
    const bytes = await bytesOf(scope, path, isFile);
    if (bytes === "too big") found.tooBig += 1;
    if (typeof bytes === "string") continue;
    try {
      const hits = await thread.search(bytes, { most: room, context: Math.min(context, MOST_CONTEXT) });
      found.looked += 1;
      if (hits.length === 0) continue;
      found.hits += hits.filter(({ isMatch }) => isMatch).length;
      const lines = [path, ...hits.map(lineOf)];
      found.lines.push(...lines);
      characters += lines.reduce((sum, line) => sum + line.length + 1, 0);
    } catch (error) {
      if (!(error instanceof TooSlow)) throw error;
      return { ...found, ended: `Ended at ${path}: it took too long. Simplify the pattern, or name a path.` };
    }
    if (found.hits >= MOST_HITS || characters > MOST_CHARS)
      return { ...found, ended: `Ended after ${found.hits} matches. Narrow the pattern, the glob or the path.` };
  }
  return found;
}

function lineOf({ line, text, isMatch }: GrepLine): string {
  return `${line}${isMatch ? ":" : "-"}\t${text}`;
}

/** What cannot be read is passed over, unless it is what was asked for. */
async function bytesOf(scope: Scope, path: string, isAsked: boolean): Promise<Buffer | "too big" | "no text"> {
  try {
    const { bytes, truncated } = await scope.readFile(path, { maxBytes: MOST_FILE_BYTES });
    if (truncated) return "too big";
    return bytes.subarray(0, 8192).includes(0) ? "no text" : bytes;
  } catch (error) {
    if (!isAsked && (error instanceof ScopeRefusal || error instanceof FileNotFound)) return "no text";
    throw error;
  }
}
