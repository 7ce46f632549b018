import type { TimeSlices } from "../disk/time-slices.ts";
import { type Effort, globOf, type IgnoreGlob } from "./ignore-glob.ts";

/**
 * The patterns of one `.gitignore`.
 *
 * IGNORE-1. A pattern means what it means to git, except that `?` and `[…]` stand for a character and not for a byte.
 * IGNORE-2. Plain names, endings (`*.log`) and paths are looked up, so that their number does not matter. Patterns with
 *     other wildcards are tried one by one, within a limit of effort; a file that exceeds it loses them and says so.
 * IGNORE-3. Reading a file yields every few milliseconds.
 */
export class IgnorePatterns {
  readonly #plain = new Lookup();
  readonly #endings = new Lookup();
  readonly #paths = new Lookup();
  #globs: RankedGlob[] = [];
  #isWhole = true;

  static async of(text: string, slices: TimeSlices): Promise<IgnorePatterns> {
    const patterns = new IgnorePatterns();
    let rank = 0;
    for (let at = text.startsWith("\uFEFF") ? 1 : 0, end = 0; at < text.length; at = end + 1) {
      end = text.indexOf("\n", at);
      if (end < 0) end = text.length;
      patterns.#add(text.slice(at, text[end - 1] === "\r" ? end - 1 : end), rank++);
      if (rank % 64 === 0 && slices.isDue) await slices.rest();
    }
    patterns.#globs.reverse();
    return patterns;
  }

  /** False once patterns were dropped because they took too long. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** The names lead from the folder of the file to what is asked about. Undefined where no pattern is about it. */
  verdict(names: readonly string[], isFolder: boolean, effort: Effort): boolean | undefined {
    const name = names.at(-1) ?? "";
    let best = this.#plain.find(name, isFolder);
    for (const length of this.#endings.lengths)
      if (length <= name.length) best = later(best, this.#endings.find(name.slice(-length), isFolder));
    if (!this.#paths.isEmpty) best = later(best, this.#paths.find(names.join("/"), isFolder));
    best = later(best, this.#lastGlob(names, isFolder, best, effort));
    return best && !best.isNegated;
  }

  /** The last one that matches, if it comes after the one that is known. */
  #lastGlob(names: readonly string[], isFolder: boolean, known: Ranked | undefined, effort: Effort) {
    if (this.#globs.length === 0) return undefined;
    effort.begin();
    for (const glob of this.#globs) {
      if (known && glob.rank < known.rank) return undefined;
      if (glob.onlyFolders && !isFolder) continue;
      if (glob.matches(names, effort)) return glob;
      if (effort.isSpent) return this.#dropGlobs();
    }
    return undefined;
  }

  #dropGlobs(): undefined {
    this.#globs = [];
    this.#isWhole = false;
  }

  #add(line: string, rank: number): void {
    const parsed = parsedLine(line);
    if (!parsed) return;
    const { onlyFolders, isNegated, isPath, pattern } = parsed;
    const ranked = { rank, isNegated };
    const [star, ending] = [pattern.startsWith("*"), pattern.slice(1)];
    if (!SPECIAL.test(pattern)) (isPath ? this.#paths : this.#plain).add(pattern, ranked, onlyFolders);
    else if (!isPath && star && ending !== "" && !SPECIAL.test(ending)) this.#endings.add(ending, ranked, onlyFolders);
    else {
      const matches = globOf(pattern, isPath);
      if (matches) this.#globs.push({ ...ranked, onlyFolders, matches });
    }
  }
}

interface Ranked {
  /** Its line: the last one that matches counts. */
  rank: number;
  isNegated: boolean;
}

interface RankedGlob extends Ranked {
  onlyFolders: boolean;
  matches: IgnoreGlob;
}

const SPECIAL = /[*?[\\]/;

function parsedLine(line: string) {
  if (line.startsWith("#")) return undefined;
  const isNegated = line.startsWith("!");
  const text = withoutEndSpaces(isNegated ? line.slice(1) : line);
  const onlyFolders = text.endsWith("/");
  const bare = onlyFolders ? text.slice(0, -1) : text;
  if (bare === "") return undefined;
  // In any folder: the same as a name alone.
  const name = bare.replace(/^\/?(?:\*\*\/)+(?=[^/]+$)/, "");
  const isPath = name.includes("/");
  return { isNegated, onlyFolders, isPath, pattern: isPath && name.startsWith("/") ? name.slice(1) : name };
}

/** A space before which there is a backslash stays. */
function withoutEndSpaces(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === " " && !isEscaped(text, end - 1)) end--;
  return text.slice(0, end);
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === "\\") backslashes++;
  return backslashes % 2 === 1;
}

/** Texts with the last pattern that is exactly that text: for everything, and for folders alone. */
class Lookup {
  readonly lengths = new Set<number>();
  readonly #forAll = new Map<string, Ranked>();
  readonly #forFolders = new Map<string, Ranked>();

  get isEmpty(): boolean {
    return this.lengths.size === 0;
  }

  add(text: string, ranked: Ranked, onlyFolders: boolean): void {
    this.lengths.add(text.length);
    (onlyFolders ? this.#forFolders : this.#forAll).set(text, ranked);
  }

  find(text: string, isFolder: boolean): Ranked | undefined {
    const known = this.#forAll.get(text);
    return isFolder ? later(known, this.#forFolders.get(text)) : known;
  }
}

function later(a: Ranked | undefined, b: Ranked | undefined): Ranked | undefined {
  if (!a || !b) return a ?? b;
  return a.rank > b.rank ? a : b;
}
