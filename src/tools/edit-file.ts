import { z } from "zod";
import { oneAtATime } from "../boundary/one-at-a-time.ts";
import { MAX_WRITE_BYTES } from "../store/scope/file-scope.ts";
import type { Scope } from "../store/scope/scope.ts";
import { fileErrorsAsResults } from "./file-refusals.ts";
import { defineTool, refusal, type Tool, type ToolOutput } from "./tool.ts";

const toEdit = z.object({
  path: z.string().min(1),
  old: z.string().min(1),
  new: z.string(),
  all: z.boolean().default(false).describe("Every occurrence."),
});

/**
 * `edit_file`: exact replacement.
 *
 * EDIT-1. `old` must occur exactly once, unless `all` is set: otherwise nothing is written, and the refusal says how
 *     often it occurs and where, or which lines are similar.
 * EDIT-2. The file is replaced as a whole, by one rename; parallel calls run one after the other, so that none is lost.
 * EDIT-3. Line endings (a file that has only CRLF keeps having only them), mode and byte order mark stay as they are.
 */
export function editFileTool(scope: Scope): Tool {
  return defineTool({
    name: "edit_file",
    description: "Replace text in a file. `old` must match exactly and only once, without line numbers.",
    repeatable: false,
    parameters: toEdit,
    run: (order, signal) =>
      fileErrorsAsResults(signal, () => oneAtATime(`edit ${scope.cwd}`, () => edit(scope, order))),
  });
}

async function edit(scope: Scope, { path, old, new: replacement, all }: z.infer<typeof toEdit>): Promise<ToolOutput> {
  if (old === replacement) return refusal("Nothing to do: old and new are the same.");
  const { bytes, size, truncated } = await scope.readFile(path, { maxBytes: MAX_WRITE_BYTES });
  if (truncated) return refusal(`${path} has ${size} bytes, too many for edit_file. Use bash.`);
  const text = decoded(bytes);
  if (text === undefined) return refusal(`${path} is not UTF-8 text. Use bash to change it.`);
  const asInFile = hasOnlyCrlf(text) ? (words: string) => words.replaceAll(/\r?\n/g, "\r\n") : (words: string) => words;
  const wanted = asInFile(old);
  const places = placesOf(text, wanted);
  const [first] = places;
  if (first === undefined) return refusal(notThere(path, text, old));
  if (places.length > 1 && !all) return refusal(tooOften(path, text, places));
  await scope.writeFile(path, text.split(wanted).join(asInFile(replacement)));
  const times = places.length > 1 ? `${places.length} times, first ` : "";
  return `Edited ${path}: ${times}in line ${lineAt(text, first)}.`;
}

function decoded(bytes: Buffer): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

function hasOnlyCrlf(text: string): boolean {
  return text.includes("\r\n") && !/(?<!\r)\n/.test(text);
}

/** Where `wanted` begins, each after the end of the one before: as `split` cuts. */
function placesOf(text: string, wanted: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) places.push(at);
  return places;
}

function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < index; at = text.indexOf("\n", at + 1)) line++;
  return line;
}

const MOST_NAMED = 8;

function tooOften(path: string, text: string, places: readonly number[]): string {
  const lines = places.slice(0, MOST_NAMED).map((at) => lineAt(text, at));
  const more = places.length > MOST_NAMED ? ", …" : "";
  return `Not edited: old occurs ${places.length} times in ${path} (lines ${lines.join(", ")}${more}). Give more of the text around it, or all: true.`;
}

function notThere(path: string, text: string, old: string): string {
  const unnumbered = old.replace(/^\d+\t/gm, "");
  const isNumbered = unnumbered !== old && text.includes(unnumbered);
  if (isNumbered) return `Not edited: leave out the line numbers, which are not in ${path}.`;
  const near = nearestLines(text, old);
  const hint = near.length > 0 ? ` Nearest:\n${near.join("\n")}` : "";
  return `Not edited: old does not occur in ${path}. White space counts; read the file again.${hint}`;
}

const MOST_COMPARED = 20_000;
const LONGEST_SHOWN = 200;

/** The lines that share the most words with the first line of what was looked for; those that are equal but for white space first. */
function nearestLines(text: string, old: string): string[] {
  const wanted = old.split("\n").find((line) => line.trim()) ?? "";
  const words = new Set(wordsIn(wanted));
  const bare = wanted.replaceAll(/\s/g, "");
  const scored = text
    .split("\n", MOST_COMPARED)
    .map((line, i) => ({ line, number: i + 1, score: scoreOf(line.slice(0, 2000), bare, words) }))
    .filter(({ score }) => score > 0.5);
  return scored
    .sort((a, b) => b.score - a.score)
    .slice(0, 3)
    .map(({ line, number }) => `${number}\t${line.slice(0, LONGEST_SHOWN).trimEnd()}`);
}

function scoreOf(line: string, bare: string, words: ReadonlySet<string>): number {
  if (bare !== "" && line.replaceAll(/\s/g, "") === bare) return 2;
  const own = new Set(wordsIn(line));
  const shared = [...words].filter((word) => own.has(word)).length;
  return shared / Math.max(words.size, own.size, 1);
}

function wordsIn(line: string): string[] {
  return line.match(/[\p{L}\p{N}_]+/gu) ?? [];
}
