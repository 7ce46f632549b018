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
 * Measures a commit's tree from its objects, each read once: a tree of ten folders in ten levels that are all the same
 * object has 10^10 files and is as quickly measured as any.
 *
 * TREE-1. Memory and time depend on how many different folders there are, not on how many files they would make.
 * TREE-2. No name in it can be taken for `.git` on any file system, or lead out of the tree.
 */
export class TreeCheck {
  readonly #run: TreeRunner;
  readonly #limits: ReceiveLimits;
  readonly #known: Map<string, Extent>;

  /** `known` outlives one check: folders that did not change are not read again. */
  constructor(run: TreeRunner, limits: ReceiveLimits, known: Map<string, Extent>) {
    this.#run = run;
    this.#limits = limits;
    this.#known = known;
  }

  /** Throws BadBundle. Level by level, so that a deep tree needs no deep stack. */
  async check(tree: string, idBytes: number): Promise<void> {
    const read = new Map<string, Entry[]>();
    const levels: string[][] = [];
    for (let level = [tree]; level.length > 0; ) {
      if (levels.length > this.#limits.depth)
        throw new BadBundle(`Its folders are more than ${this.#limits.depth} deep.`);
      const wanted = [...new Set(level)].filter((id) => !this.#known.has(id));
      const unread = wanted.filter((id) => !read.has(id));
      for (const [id, content] of await this.#read(unread)) read.set(id, entriesOf(content, idBytes, this.#limits));
      if (read.size > MOST_FOLDERS) throw new BadBundle(`It has more than ${MOST_FOLDERS} different folders.`);
      levels.push(wanted);
      level = wanted.flatMap((id) => (read.get(id) ?? []).flatMap((entry) => (entry.isTree ? [entry.id] : [])));
    }
    for (const level of levels.reverse()) {
      for (const id of level) this.#known.set(id, this.#extentOf(read.get(id) ?? []));
    }
    const extent = this.#known.get(tree) ?? { files: 0, depth: 0, path: 0 };
    if (this.#known.size > MOST_FOLDERS) this.#known.clear();
    this.#compare(extent);
  }

  #extentOf(entries: readonly Entry[]): Extent {
    const all: Extent = { files: 0, depth: 1, path: 0 };
    for (const entry of entries) {
      const below = entry.isTree ? this.#known.get(entry.id) : undefined;
      all.files += entry.isTree ? (below?.files ?? 0) : 1;
      all.depth = Math.max(all.depth, 1 + (below?.depth ?? 0));
      all.path = Math.max(all.path, entry.bytes + (below === undefined ? 0 : 1 + below.path));
    }
    return all;
  }

  #compare({ files, depth, path }: Extent): void {
    const limits = this.#limits;
    if (files > limits.files) throw new BadBundle(`It has ${files} files; at most ${limits.files} are taken.`);
    if (depth > limits.depth) throw new BadBundle(`Its folders are ${depth} deep; at most ${limits.depth} are taken.`);
    if (path > limits.pathLength) {
      throw new BadBundle(`It has a path of ${path} bytes; at most ${limits.pathLength} are taken.`);
    }
  }

  async #read(ids: readonly string[]): Promise<Map<string, Buffer>> {
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

interface Entry {
  id: string;
  isTree: boolean;
  bytes: number;
}

/** `mode SP name NUL id` for each entry. */
function entriesOf(content: Buffer, idBytes: number, limits: ReceiveLimits): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(32, at);
    const end = content.indexOf(0, space);
    if (space < 0 || end < 0) throw new BadBundle("A folder in it is damaged.");
    const name = content.subarray(space + 1, end);
    const problem = problemWithName(name, limits.nameLength);
    if (problem) throw new BadBundle(problem);
    const id = content.subarray(end + 1, end + 1 + idBytes).toString("hex");
    entries.push({ id, isTree: content[at] === 52, bytes: name.length });
    at = end + 1 + idBytes;
    // A single folder of too many files is known at once; its other entries need not be kept.
    if (entries.length > limits.files) throw new BadBundle(`It has more than ${limits.files} files in one folder.`);
  }
  return entries;
}
