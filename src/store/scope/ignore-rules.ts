import { lstatSync, readSync } from "node:fs";
import { dirname, join } from "node:path";
import { closeFolder, type Folder, glance, WalkError } from "../disk/folder.ts";
import { FolderChain } from "../disk/folder-chain.ts";
import { TimeSlices } from "../disk/time-slices.ts";
import { type OpenFile, openFile, openFolderBelow } from "../disk/walk.ts";
import { Effort } from "./ignore-glob.ts";
import { IgnorePatterns } from "./ignore-patterns.ts";

/** What the files of one folder say, and those of the folders above it. */
export interface IgnoreRules {
  above: IgnoreRules | undefined;
  /** How many names lead to the folder. */
  depth: number;
  patterns: IgnorePatterns;
}

export interface RulesAbove {
  /** What leads to the folder from where the rules begin. */
  names: readonly string[];
  rules: IgnoreRules | undefined;
  /** The folder itself is ignored. */
  isIgnored: boolean;
}

const MOST_BYTES_OF_ONE = 1024 * 1024;
const MOST_BYTES = 4 * MOST_BYTES_OF_ONE;
const MOST_ABOVE = 64;
const GIT = ".git";
const IGNORE = ".gitignore";

/**
 * What git would ignore in a tree that others fill: `.gitignore` in each folder, and `.git/info/exclude`. One for a walk.
 *
 * IGNORE-4. The rules of a repository end at it: a repository within another one has its own.
 * IGNORE-5. What is ignored is not entered, so nothing in an ignored folder can be taken back by `!`.
 * IGNORE-6. No link is followed, and what one walk reads of these files is limited.
 */
export class IgnoreReader {
  readonly #effort = new Effort();
  readonly #read: IgnorePatterns[] = [];
  #bytes = 0;
  #isCut = false;

  /** A file was too large, or its patterns took too long. */
  get isPartial(): boolean {
    return this.#isCut || this.#read.some(({ isWhole }) => !isWhole);
  }

  /** The names lead from where the rules begin to a file or folder. */
  isIgnored(rules: IgnoreRules | undefined, names: readonly string[], isFolder: boolean): boolean {
    for (let each = rules; each; each = each.above) {
      const verdict = each.patterns.verdict(names.slice(each.depth), isFolder, this.#effort);
      if (verdict !== undefined) return verdict;
    }
    return false;
  }

  /** The rules for what is in a folder; `depth` names lead to it. */
  async within(
    folder: Folder,
    has: (name: string) => boolean,
    depth: number,
    above: IgnoreRules | undefined,
    slices: TimeSlices,
  ): Promise<IgnoreRules | undefined> {
    const isRepository = has(GIT);
    const own = isRepository ? await this.#patternsIn(folder, [GIT, "info"], "exclude", slices) : undefined;
    const inherited = isRepository ? own && { above: undefined, depth, patterns: own } : above;
    const patterns = has(IGNORE) ? await this.#patternsIn(folder, [], IGNORE, slices) : undefined;
    return patterns ? { above: inherited, depth, patterns } : inherited;
  }

  /**
   * The rules that hold in a folder because of those above it, up to the top of its repository, which may lie outside the
   * root where `mayLeave` says so. That a root is ignored by what lies outside does not count.
   */
  async above(root: string, parts: readonly string[], mayLeave: boolean): Promise<RulesAbove> {
    const base = (mayLeave ? repositoryOf(root) : undefined) ?? root;
    const outside = root.slice(base.length).split("/").filter(Boolean);
    const names = [...outside, ...parts];
    const slices = new TimeSlices();
    let rules: IgnoreRules | undefined;
    try {
      using chain = new FolderChain(base, []);
      for (let depth = 0; depth < names.length; depth++) {
        const folder = chain.folderAt(names.slice(0, depth));
        rules = await this.within(folder, (name) => glance(folder, name) !== undefined, depth, rules, slices);
        if (!this.isIgnored(rules, names.slice(0, depth + 1), true)) continue;
        if (depth >= outside.length) return { names, rules: undefined, isIgnored: true };
        rules = undefined;
      }
    } catch (error) {
      // What cannot be opened is refused, or reported, by the one who walks there.
      if (!(error instanceof WalkError)) throw error;
    }
    return { names, rules, isIgnored: false };
  }

  async #patternsIn(folder: Folder, below: readonly string[], name: string, slices: TimeSlices) {
    const most = Math.max(0, Math.min(MOST_BYTES_OF_ONE, MOST_BYTES - this.#bytes));
    const bytes = readIn(folder, below, name, most + 1);
    if (!bytes) return undefined;
    const isCut = bytes.length > most;
    this.#isCut ||= isCut;
    this.#bytes += bytes.length;
    // A part of a line would mean something else.
    const whole = isCut ? bytes.subarray(0, bytes.lastIndexOf(10, most - 1) + 1) : bytes;
    const patterns = await IgnorePatterns.of(whole.toString("utf8"), slices);
    this.#read.push(patterns);
    return patterns;
  }
}

/** The nearest folder, from this one up, that is a repository. */
function repositoryOf(root: string): string | undefined {
  for (let at = root, up = 0; up < MOST_ABOVE; at = dirname(at), up++) {
    if (lstatSync(join(at, GIT), { throwIfNoEntry: false })) return at;
    if (dirname(at) === at) return undefined;
  }
  return undefined;
}

/** At most so many bytes; undefined if there is no such regular file. */
function readIn(folder: Folder, below: readonly string[], name: string, most: number): Buffer | undefined {
  const [first, ...rest] = below;
  let inside: Folder | undefined;
  let file: OpenFile | undefined;
  try {
    if (first !== undefined) inside = openFolderBelow(folder, first, rest);
    file = openFile(inside ?? folder, name);
    const bytes = Buffer.allocUnsafe(Math.min(file.size, most));
    let filled = 0;
    for (let count = 1; filled < bytes.length && count > 0; filled += count)
      count = readSync(file.fd, bytes, filled, bytes.length - filled, filled);
    return bytes.subarray(0, filled);
  } catch (error) {
    if (error instanceof WalkError) return undefined;
    throw error;
  } finally {
    file?.close();
    if (inside) closeFolder(inside);
  }
}
