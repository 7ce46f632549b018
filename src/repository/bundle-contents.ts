import { BadBundle } from "./bundle-file.ts";
import type { Git } from "./git.ts";
import { type ReceiveLimits, UNTRUSTED } from "./limits.ts";

export interface BundleContents {
  /** Of the tips of the bundle, those that are commits in it. */
  commits: ReadonlySet<string>;
  /** None where reading them all at once would need too much memory. */
  trees: readonly string[];
}

/** The sizes are in the pack, so nothing is inflated for this. */
export async function contentsOf(
  git: Git,
  { dir, aside }: { dir: string; aside: string },
  tips: readonly string[],
  limits: ReceiveLimits,
): Promise<BundleContents> {
  const args = [
    "cat-file",
    "--batch-all-objects",
    "--unordered",
    "--batch-check=%(objectsize) %(objecttype) %(objectname)",
  ];
  const seen = new SeenObjects(tips, limits);
  let rest = "";
  await git.run(args, {
    env: { GIT_DIR: dir, GIT_OBJECT_DIRECTORY: aside },
    limits: UNTRUSTED,
    onOutput: (part) => {
      const lines = (rest + part.toString("latin1")).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) seen.take(line);
      return seen.isWithin;
    },
  });
  seen.refuseTooLarge();
  return seen;
}

class SeenObjects implements BundleContents {
  readonly commits = new Set<string>();
  readonly #tips: ReadonlySet<string>;
  readonly #limits: ReceiveLimits;
  #trees: string[] = [];
  #treeBytes = 0;
  #count = 0;
  #total = 0;
  #largest = 0;
  #longest = 0;

  constructor(tips: readonly string[], limits: ReceiveLimits) {
    this.#tips = new Set(tips);
    this.#limits = limits;
  }

  take(line: string): void {
    const [bytes = "", kind, id = ""] = line.split(" ");
    const size = Number.parseInt(bytes, 10);
    this.#count += 1;
    this.#total += size;
    this.#largest = Math.max(this.#largest, size);
    if (kind === "commit" || kind === "tag") this.#longest = Math.max(this.#longest, size);
    if (kind === "commit" && this.#tips.has(id)) this.commits.add(id);
    if (kind === "tree") this.#treeBytes += size;
    if (kind === "tree" && this.#treeBytes <= MOST_AT_ONCE) this.#trees.push(id);
  }

  get isWithin(): boolean {
    return this.#count <= this.#limits.objects && this.#total <= this.#limits.inflatedBytes;
  }

  get trees(): readonly string[] {
    return this.#treeBytes <= MOST_AT_ONCE ? this.#trees : [];
  }

  refuseTooLarge(): void {
    const { fileBytes, messageBytes, objects, inflatedBytes } = this.#limits;
    if (this.#largest > fileBytes)
      throw new BadBundle(`It has a file of ${inMiB(this.#largest)} MiB; at most ${inMiB(fileBytes)} are taken.`);
    if (this.#longest > messageBytes)
      throw new BadBundle(`It has a commit message of ${this.#longest} bytes; at most ${messageBytes} are taken.`);
    if (this.#count > objects) throw new BadBundle(`It has more than ${objects} objects.`);
    if (this.#total > inflatedBytes) throw new BadBundle(`It unpacks to more than ${inMiB(inflatedBytes)} MiB.`);
  }
}

const MOST_AT_ONCE = 4 * 1024 * 1024;

export function inMiB(bytes: number): number {
  return Math.ceil(bytes / 1024 / 1024);
}
