import { constants } from "node:fs";
import { lstat, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Git } from "./git.ts";
import { Mask, type PersonFolders } from "./person-objects.ts";

/** Files of the person's folder that are not committed but that their program needs: settings and keys, for example. */
export interface FilesToInclude {
  /** As seen from their top folder; shallow ones first. */
  files: { path: string; bytes: number }[];
  /** At most 100 of those that were named and are not taken. */
  left: { path: string; why: string }[];
}

export interface IncludeLimits {
  files: number;
  /** Of all together. */
  bytes: number;
}

export const INCLUDE_FILE = ".worktreeinclude";
export const INCLUDE_LIMITS: IncludeLimits = { files: 2_000, bytes: 256 * 1024 * 1024 };

const MOST_PATTERN_BYTES = 256 * 1024;
const MOST_LOOKED_AT = 50_000;
const MOST_LEFT = 100;
const SECONDS = 60;

/**
 * The files that `.worktreeinclude` names, in the syntax of `.gitignore`, and that git ignores there: other tools read
 * the same file, and a committed file is never meant by it.
 *
 * INCLUDE-1. The person's repository is only read, and only by git behind a mask (person-objects.ts).
 * INCLUDE-2. Number, size and time are limited, and what was left out is said. Shallow files are taken first.
 * INCLUDE-3. Only regular files are taken: no link, no fifo, nothing of a repository within theirs.
 */
export async function filesToInclude(
  person: PersonFolders,
  git: Git,
  limits: IncludeLimits = INCLUDE_LIMITS,
): Promise<FilesToInclude> {
  const patterns = await patternsOf(person.top);
  if (patterns === undefined) return { files: [], left: [] };
  if (typeof patterns === "string") return { files: [], left: [{ path: INCLUDE_FILE, why: patterns }] };
  await using mask = await Mask.open(person, git);
  const file = join(mask.dir, "include");
  await writeFile(file, patterns);
  const named = await namedBy(mask, file);
  const ignored = await ignoredAmong(mask, named.paths);
  const chosen = new Inclusion(person.top, limits);
  for (const path of ignored.sort(shallowFirst)) await chosen.add(path);
  if (named.isCut) chosen.leave(INCLUDE_FILE, `It names more than ${MOST_LOOKED_AT} files; only those were looked at.`);
  return chosen.result;
}

/** Why they cannot be read, in words, where there is such a file. */
async function patternsOf(top: string): Promise<Buffer | string | undefined> {
  const path = join(top, INCLUDE_FILE);
  const stats = await lstat(path).catch(() => undefined);
  if (!stats) return undefined;
  if (!stats.isFile()) return "It is not a regular file, and is not followed.";
  if (stats.size > MOST_PATTERN_BYTES) return `It is larger than ${MOST_PATTERN_BYTES / 1024} KB.`;
  // What was looked at may be something else by now.
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => undefined);
  if (!file) return "It cannot be opened.";
  try {
    if (!(await file.stat()).isFile()) return "It is not a regular file, and is not followed.";
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MOST_PATTERN_BYTES), 0, MOST_PATTERN_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Paths are bytes in a string (latin1). */
async function namedBy(mask: Mask, file: string): Promise<{ paths: string[]; isCut: boolean }> {
  const paths: string[] = [];
  let begun = "";
  let isCut = false;
  const onOutput = (part: Buffer) => {
    const ends = `${begun}${part.toString("latin1")}`.split("\0");
    begun = ends.pop() ?? "";
    paths.push(...ends.slice(0, MOST_LOOKED_AT - paths.length));
    isCut = paths.length === MOST_LOOKED_AT;
    return !isCut;
  };
  const args = ["ls-files", "--others", "--ignored", `--exclude-from=${file}`, "-z"];
  await mask.run(args, { onOutput, seconds: SECONDS });
  return { paths, isCut };
}

async function ignoredAmong(mask: Mask, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  // check-ignore takes no literal paths: behind "./" none has another meaning.
  const stdin = Buffer.from(paths.map((path) => `./${path}\0`).join(""), "latin1");
  const options = { stdin, env: { GIT_LITERAL_PATHSPECS: "0" }, seconds: SECONDS };
  // It ends with 1 where none is.
  const { stdout } = await mask.run(["check-ignore", "-z", "--stdin"], { ...options, fine: [0, 1] });
  const ignored = stdout.toString("latin1").split("\0").filter(Boolean);
  return ignored.map((path) => path.slice("./".length));
}

class Inclusion {
  readonly result: FilesToInclude = { files: [], left: [] };
  readonly #top: string;
  readonly #limits: IncludeLimits;
  #bytes = 0;

  constructor(top: string, limits: IncludeLimits) {
    this.#top = top;
    this.#limits = limits;
  }

  async add(bytes: string): Promise<void> {
    const path = Buffer.from(bytes, "latin1").toString("utf8");
    const why =
      Buffer.from(path, "utf8").toString("latin1") === bytes ? await this.#take(path) : "Its name is not UTF-8.";
    if (why !== undefined) this.leave(path, why);
  }

  leave(path: string, why: string): void {
    if (this.result.left.length < MOST_LEFT) this.result.left.push({ path, why });
  }

  /** The reason, if it is not taken. */
  async #take(path: string): Promise<string | undefined> {
    const { files, bytes } = this.#limits;
    if (path.endsWith("/")) return "It is a repository of its own.";
    if (this.result.files.length >= files) return `More than ${files} files are named.`;
    const stats = await lstat(join(this.#top, path)).catch(() => undefined);
    if (!stats) return "It is gone.";
    if (stats.isSymbolicLink()) return "It is a symbolic link, and is not followed.";
    if (!stats.isFile()) return "It is not a regular file.";
    if (this.#bytes + stats.size > bytes)
      return `With it there would be more than ${Math.floor(bytes / 1024 / 1024)} MB.`;
    this.#bytes += stats.size;
    this.result.files.push({ path, bytes: stats.size });
    return undefined;
  }
}

function shallowFirst(a: string, b: string): number {
  return depthOf(a) - depthOf(b) || (a < b ? -1 : 1);
}

function depthOf(path: string): number {
  let depth = 0;
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) depth++;
  return depth;
}
