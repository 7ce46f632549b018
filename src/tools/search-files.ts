import { z } from "zod";
import type { ListedFile, Scope } from "../store/scope/scope.ts";
import { FileNotFound, type RefusalReason, ScopeRefusal } from "../store/scope/scope-refusal.ts";
import { fileErrorsAsResults } from "./file-refusals.ts";
import { globMatcher, startsOf } from "./glob-match.ts";
import { type GrepLine, GrepThread, TooSlow, UnusablePattern } from "./grep.ts";
import { defineTool, refusal, type Tool, type ToolOutput } from "./tool.ts";

const MOST_FILES = 20_000;
const MOST_HITS = 200;
const MOST_SHOWN = 500;
const MOST_CHARS = 40_000;
const MOST_FILE_BYTES = 8 * 1024 * 1024;

const pattern = z.string().min(1).max(1000);
/** A path as the listing shows it: "." and "./" are the top. */
const path = z.string().default("").transform(withoutDots);
const toGrep = z.object({
  pattern,
  path,
  glob: z.string().min(1).max(200).optional(),
  ignore_case: z.boolean().default(false),
  context: z.int().min(0).max(5).default(0).describe("Lines around a match."),
});
const toGlob = z.object({ pattern: z.string().min(1).max(200), path });

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
 */
export function searchTools(scope: Scope, bounds: SearchBounds = { timeoutMs: 20_000 }): Tool[] {
  return [
    defineTool({
      name: "grep",
      description: "Search file contents, line by line, with a JavaScript regular expression.",
      repeatable: true,
      readOnly: true,
      parameters: toGrep,
      run: (order, signal) => fileErrorsAsResults(signal, () => grep(scope, order, bounds, signal)),
    }),
    defineTool({
      name: "glob",
      description: "Find files by name, e.g. **/*.test.ts",
      repeatable: true,
      readOnly: true,
      parameters: toGlob,
      run: ({ pattern, path }, signal) => fileErrorsAsResults(signal, () => glob(scope, pattern, path)),
    }),
  ];
}

async function glob(scope: Scope, wanted: string, at: string): Promise<string> {
  const { files, isCut } = await filesFor(scope, at, wanted);
  const matches = matcherFor(wanted, at);
  const found = files.filter(({ path }) => matches(path));
  const shown = found.slice(0, MOST_SHOWN).map(({ path, bytes }) => `${path} (${bytes} bytes)`);
  const notes = [
    found.length === 0 ? `No file of ${files.length} matches.` : "",
    found.length > MOST_SHOWN ? `[${found.length - MOST_SHOWN} more are not shown. Narrow the pattern.]` : "",
    isCut ? CUT : "",
  ];
  return [...shown, ...notes].filter(Boolean).join("\n");
}

const CUT = `[Not all files were looked at, there are too many. Name a folder as path.]`;

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
}

/**
 * The files that a pattern may be about. From the top those below its own first name are looked at: short names (scratch/,
 * agent/) are listed only where they are named, as what they lead to stands elsewhere too.
 */
async function filesFor(scope: Scope, at: string, wanted: string | undefined): Promise<FilesBelow> {
  if (at !== "" || wanted === undefined) return filesBelow(scope, at);
  const found: FilesBelow[] = [];
  for (const start of startsOf(wanted)) {
    try {
      found.push(await filesBelow(scope, start));
    } catch (error) {
      if (!(error instanceof ScopeRefusal || error instanceof FileNotFound)) throw error;
    }
  }
  if (found.length === 0) return filesBelow(scope, at);
  const files = new Map(found.flatMap((each) => each.files).map((file) => [file.path, file]));
  return { files: [...files.values()], isCut: found.some(({ isCut }) => isCut), isFile: false };
}

/** The files below a folder, or the file itself. At the top the project is opened too; the other short names lead to what is there anyway. */
async function filesBelow(scope: Scope, at: string): Promise<FilesBelow> {
  const options = { recursive: true, limit: MOST_FILES, withoutShortNames: true };
  const unless = (reason: RefusalReason) => (error: unknown) => {
    if (error instanceof ScopeRefusal && error.reason === reason) return null;
    throw error;
  };
  const listing = await scope.list(at, options).catch(unless("wrong_kind"));
  if (!listing) return { files: [{ path: at, kind: "file", bytes: 0 }], isCut: false, isFile: true };
  // Refused where there is none.
  const found = at === "" ? await scope.list("project", options).catch(unless("outside")) : null;
  const project = found ?? { entries: [], more: false };
  const files = [...listing.entries, ...project.entries].filter(({ kind }) => kind === "file");
  return { files, isCut: listing.more || project.more, isFile: false };
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
  const { files, isCut, isFile } = await filesFor(scope, order.path, order.glob);
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
      isCut ? CUT : "",
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
      const hits = await thread.search(bytes, { most: room, context });
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
