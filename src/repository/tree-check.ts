import { BadBundle } from "./bundle-file.ts";
import type { Git } from "./git.ts";
import { type ReceiveLimits, UNTRUSTED } from "./limits.ts";
import { problemWithName } from "./path-rules.ts";

/** What a tree would be if it were checked out, without doing so. */
interface Extent {
  files: number;
  depth: number;
  path: number;
}

/**
 * Measures trees from their objects, each read once: a tree of ten folders in ten levels that are all the same object
 * has 10^10 files and is measured as quickly as any other.
 *
 * COMMIT-TREE-1. Memory and time depend on how many different folders there are, not on how many files they would make.
 * COMMIT-TREE-2. No name in it can be taken for `.git` on any file system, or lead out of the tree. Folders that the person's own
 * commits have are as they are.
 * COMMIT-TREE-3. A repository of the person that is beyond the limits itself can be worked on: they are for what is added.
 */
export class TreeCheck {
  readonly #run: TreeRunner;
  readonly #limits: ReceiveLimits;
  readonly #known: Map<string, Extent>;
  #toRead: ReadonlySet<string>;
  readonly #contents = new Map<string, Buffer>();

  /**
   * `known` outlives one check: folders that did not change are not read again. `fresh` are few enough to be read at once,
   * instead of level by level.
   */
  constructor(run: TreeRunner, limits: ReceiveLimits, known: Map<string, Extent>, fresh: readonly string[] = []) {
    this.#run = run;
    this.#limits = limits;
    this.#known = known;
    this.#toRead = new Set(fresh);
  }

  /** Throws BadBundle. `own` are trees of the person. */
  async check(trees: readonly string[], own: readonly string[]): Promise<void> {
    if (this.#known.size > MOST_FOLDERS) this.#known.clear();
    const theirs = await this.#measureAll(own, OWN);
    const limits = {
      ...this.#limits,
      files: this.#limits.files + theirs.files,
      depth: Math.max(this.#limits.depth, theirs.depth),
      pathLength: Math.max(this.#limits.pathLength, theirs.path),
    };
    compare(await this.#measureAll(trees, limits), limits);
  }

  /** Some at a time: trees of many commits together could need any memory, and one by one any number of processes. */
  async #measureAll(trees: readonly string[], limits: TreeLimits): Promise<Extent> {
    const largest: Extent = { files: 0, depth: 0, path: 0 };
    for (let at = 0; at < trees.length; at += TREES_AT_ONCE) {
      const some = trees.slice(at, at + TREES_AT_ONCE);
      await this.#measure(some, limits);
      for (const tree of some) {
        const { files, depth, path } = this.#known.get(tree) ?? largest;
        largest.files = Math.max(largest.files, files);
        largest.depth = Math.max(largest.depth, depth);
        largest.path = Math.max(largest.path, path);
      }
    }
    return largest;
  }

  /** Level by level, so that a deep tree needs no deep stack. */
  async #measure(trees: readonly string[], limits: TreeLimits): Promise<void> {
    const read = new Map<string, GitTreeEntry[]>();
    const levels: string[][] = [];
    for (let level: readonly string[] = trees; level.length > 0; ) {
      if (levels.length > limits.depth) throw new BadBundle(`Its folders are more than ${limits.depth} deep.`);
      const wanted = [...new Set(level)].filter((id) => !this.#known.has(id));
      const unread = wanted.filter((id) => !read.has(id));
      for (const [id, content] of await this.#read(unread)) read.set(id, entriesOf(content, id.length / 2, limits));
      if (read.size > MOST_FOLDERS) throw new BadBundle(`It has more than ${MOST_FOLDERS} different folders.`);
      levels.push(wanted);
      level = wanted.flatMap((id) => (read.get(id) ?? []).flatMap((entry) => (entry.isTree ? [entry.id] : [])));
    }
    for (const level of levels.reverse()) {
      for (const id of level) this.#known.set(id, this.#extentOf(read.get(id) ?? []));
    }
  }

  #extentOf(entries: readonly GitTreeEntry[]): Extent {
    const all: Extent = { files: 0, depth: 1, path: 0 };
    for (const entry of entries) {
      const below = entry.isTree ? this.#known.get(entry.id) : undefined;
      all.files += entry.isTree ? (below?.files ?? 0) : 1;
      all.depth = Math.max(all.depth, 1 + (below?.depth ?? 0));
      all.path = Math.max(all.path, entry.bytes + (below === undefined ? 0 : 1 + below.path));
    }
    return all;
  }

  async #read(ids: readonly string[]): Promise<Map<string, Buffer>> {
    if (ids.some((id) => this.#toRead.has(id))) {
      for (const [id, content] of await this.#readNow([...this.#toRead])) this.#contents.set(id, content);
      this.#toRead = new Set();
    }
    const others = ids.filter((id) => !this.#contents.has(id));
    const found = await this.#readNow(others);
    for (const id of ids) {
      const content = this.#contents.get(id);
      if (content !== undefined) found.set(id, content);
    }
    return found;
  }

  async #readNow(ids: readonly string[]): Promise<Map<string, Buffer>> {
    if (ids.length === 0) return new Map();
    const stdin = `${ids.join("\n")}\n`;
    const options = { stdin, maxBytes: MOST_BYTES, limits: UNTRUSTED };
    const { stdout } = await this.#run(["cat-file", "--batch"], options);
    const found = new Map<string, Buffer>();
    for (let at = 0; at < stdout.length; ) {
      const end = stdout.indexOf(10, at);
      const [id = "", kind, size = ""] = stdout.subarray(at, end).toString("latin1").split(" ");
      if (kind !== "tree") throw new BadBundle("A folder in it is missing or is not a folder.");
      found.set(id, stdout.subarray(end + 1, end + 1 + Number(size)));
      at = end + 1 + Number(size) + 1;
    }
    return found;
  }
}

export type TreeRunner = (args: readonly string[], options: Parameters<Git["run"]>[1]) => ReturnType<Git["run"]>;

const MOST_FOLDERS = 400_000;
const MOST_BYTES = 512 * 1024 * 1024;
const TREES_AT_ONCE = 50;

type TreeLimits = Pick<ReceiveLimits, "files" | "depth" | "pathLength" | "nameLength"> & { isOwn?: true };

/** Deeper than any that git would check out. */
const OWN: TreeLimits = { files: Infinity, depth: 4096, pathLength: Infinity, nameLength: Infinity, isOwn: true };

function compare({ files, depth, path }: Extent, limits: TreeLimits): void {
  if (files > limits.files) {
    const many = files > 1e12 ? "more than 10^12" : files;
    throw new BadBundle(`It has ${many} files; at most ${limits.files} are taken.`);
  }
  if (depth > limits.depth) throw new BadBundle(`Its folders are ${depth} deep; at most ${limits.depth} are taken.`);
  if (path > limits.pathLength) {
    throw new BadBundle(`It has a path of ${path} bytes; at most ${limits.pathLength} are taken.`);
  }
}

interface GitTreeEntry {
  id: string;
  isTree: boolean;
  bytes: number;
}

/** `mode SP name NUL id` for each entry. */
function entriesOf(content: Buffer, idBytes: number, limits: TreeLimits): GitTreeEntry[] {
  const entries: GitTreeEntry[] = [];
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(32, at);
    const end = content.indexOf(0, space);
    if (space < 0 || end < 0) throw new BadBundle("A folder in it is damaged.");
    const name = content.subarray(space + 1, end);
    const problem = limits.isOwn ? undefined : problemWithName(name, limits.nameLength);
    if (problem) throw new BadBundle(problem);
    const id = content.subarray(end + 1, end + 1 + idBytes).toString("hex");
    entries.push({ id, isTree: content[at] === 52, bytes: name.length });
    at = end + 1 + idBytes;
    // A single folder of too many files is known at once; its other entries need not be kept.
    if (entries.length > limits.files) throw new BadBundle(`It has more than ${limits.files} files in one folder.`);
  }
  return entries;
}
