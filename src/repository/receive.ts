import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type BundleContents, contentsOf, inMiB } from "./bundle-contents.ts";
import { BadBundle, BundleFile } from "./bundle-file.ts";
import { type Git, GitError, type GitResult } from "./git.ts";
import { type GitRefs, syncFolder } from "./git-refs.ts";
import { type ReceiveLimits, UNTRUSTED } from "./limits.ts";
import { branchRef, isObjectId, quotedPath } from "./names.ts";
import { linksOutside } from "./outside-links.ts";
import { TreeCheck, type TreeRunner } from "./tree-check.ts";

export type Received = { ok: true; refs: Record<string, string> } | { ok: false; reason: string };

/**
 * Takes a bundle that a sandbox wrote. Its objects come into a folder of their own first, and into the repository only
 * after everything about them has been checked.
 *
 * BUNDLE-IN-1. What is refused leaves nothing behind, and what a kill left is removed by the next call.
 * BUNDLE-IN-2. What is taken is complete, passes git's own checks (fsck), and is within the limits.
 * BUNDLE-IN-3. Reading it is bounded in memory, time and disk, whatever it says about itself.
 * BUNDLE-IN-4. Its refs are named only below refs/agiraph/incoming/, each by its commit: no two of them, now or later, are in
 * each other's way, and what was taken once stays.
 * BUNDLE-IN-5. No new symbolic link in it leads out of the repository.
 * BUNDLE-IN-6. That our disk is full does not count against the bundle: it throws, and may be received again.
 */
export async function receiveBundle(
  repository: Receiver,
  path: string,
  id: string,
  names: RefNaming = () => ({}),
): Promise<Received> {
  const aside = join(repository.dir, "incoming", id);
  try {
    // Also a check of the id.
    branchRef(`incoming/${id}`);
    await rm(aside, { recursive: true, force: true });
    await using bundle = await BundleFile.open(path);
    const { bytes } = repository.limits;
    if (bundle.bytes > bytes)
      throw new BadBundle(`It has ${inMiB(bundle.bytes)} MiB; at most ${inMiB(bytes)} are taken.`);
    const header = await bundle.header(repository.limits.refs);
    const tips = [...new Set(header.refs.values())];
    // Also for a bundle without objects: git does not recognise a repository without an object folder.
    await mkdir(join(aside, "pack"), { recursive: true });
    await allOf(
      refuseUnknown(repository, header.needs),
      bundle.bytes > header.offset && unpack(repository, bundle, header.offset, aside),
    );
    await checkAll(repository, aside, tips);
    await moveIn(repository.dir, aside);
    const refs = Object.fromEntries(header.refs);
    const incoming = tips.map((commit) => [`refs/agiraph/incoming/${id}/${commit}`, commit] as const);
    await repository.refs.set({ ...Object.fromEntries(incoming), ...names(refs) });
    return { ok: true, refs };
  } catch (error) {
    if (error instanceof BadBundle) return { ok: false, reason: error.message };
    throw error;
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

export interface Receiver {
  dir: string;
  git: Git;
  refs: GitRefs;
  limits: ReceiveLimits;
  /** Commits of the person: what is in them is theirs. */
  trusted: () => Promise<string[]>;
  known: KnownTrees;
}

/** Outlives one bundle: what a commit or a tree has never changes. */
export interface KnownTrees {
  extents: ConstructorParameters<typeof TreeCheck>[2];
  ofCommits: Map<string, string>;
}

/** What the commits of a bundle are called beside their names as what came in. On disk together with those. */
export type RefNaming = (refs: Readonly<Record<string, string>>) => Record<string, string>;

async function refuseUnknown({ dir, git }: Receiver, needs: readonly string[]): Promise<void> {
  if (needs.length === 0) return;
  const check = ["--git-dir", dir, "cat-file", "--batch-check=%(objecttype)"];
  const { stdout } = await git.run(check, { stdin: `${needs.join("\n")}\n` });
  if (
    stdout
      .toString("latin1")
      .split("\n")
      .some((line) => line !== "" && line !== "commit")
  ) {
    throw new BadBundle("It builds on a commit that is not in the agent's repository.");
  }
}

async function unpack(repository: Receiver, bundle: BundleFile, offset: number, aside: string): Promise<void> {
  const { dir, git, limits } = repository;
  const args = ["index-pack", "--stdin", "--strict", "--fix-thin", `--max-input-size=${limits.bytes}`];
  const result = await git.attempt(args, {
    env: insideOf(dir, aside),
    stdin: bundle.pack(offset),
    seconds: limits.cpuSeconds * 4,
    config: FSCK,
    limits: { memoryMiB: limits.memoryMiB, cpuSeconds: limits.cpuSeconds, fileMiB: inMiB(limits.bytes) + 64 },
  });
  if (result.code !== 0) throw refusal(new GitError(args, result.code, result.stderr));
}

function refusal(error: GitError): Error {
  if (/No space left on device|Disk quota exceeded|Out of diskspace/.test(error.stderr)) return error;
  return new BadBundle(`git refuses it: ${plain(error.stderr)}`);
}

/** Errors, where git itself only warns. Old forms of timestamps and mode bits are harmless. */
const FSCK = ["fsck.hasDot=error", "fsck.hasDotdot=error", "fsck.hasDotgit=error", "fsck.fullPathname=error"];

function insideOf(dir: string, aside: string): Record<string, string> {
  return {
    GIT_DIR: dir,
    GIT_OBJECT_DIRECTORY: aside,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: quotedPath(join(dir, "objects")),
  };
}

function plain(stderr: string): string {
  const text = stderr
    .replace(/[^\x20-\x7e\n]/g, "")
    .trim()
    .slice(0, 600);
  return text || "it was ended by a limit of memory, time or size.";
}

async function checkAll(repository: Receiver, aside: string, tips: readonly string[]): Promise<void> {
  const { dir, git, limits, known } = repository;
  const env = insideOf(dir, aside);
  const run: TreeRunner = async (args, options = {}) => {
    try {
      return await git.run(args, { limits: UNTRUSTED, seconds: 600, ...options, env });
    } catch (error) {
      throw error instanceof GitError ? refusal(error) : error;
    }
  };
  const contents = await contentsOf(git, { dir, aside }, tips, limits);
  await refuseOtherThanCommits(run, contents, tips);
  const stdin = `${tips.join("\n")}\n`;
  const checkTrees = async () => {
    const trusted = await repository.trusted();
    const maxBytes = 256 * 1024 * 1024;
    // Also of the commits before the last: the person may check out any of them.
    const fresh = await run([...TREES_OF, "--stdin", "--not", "--all"], { stdin, maxBytes });
    const own = await treesOf(run, trusted, known.ofCommits);
    await new TreeCheck(run, limits, known.extents, contents.trees).check(idsIn(fresh), own);
    // Only then: looking for links reads as many files as there would be.
    const outside = await linksOutside(run, trusted, tips);
    if (outside !== undefined)
      throw new BadBundle(`It has a symbolic link that leads out of the repository: ${outside}`);
  };
  await allOf(
    // Every new commit and everything in it is there: nothing can be missing later.
    run(["rev-list", "--objects", "--quiet", "--stdin", "--not", "--all"], { stdin }),
    checkTrees(),
  );
}

/** Side by side. All have ended when it throws, and the same bundle is always refused for the same reason. */
async function allOf(...works: readonly unknown[]): Promise<void> {
  for (const result of await Promise.allSettled(works)) if (result.status === "rejected") throw result.reason;
}

const TREES_OF = ["rev-list", "--no-commit-header", "--format=%T"];

async function refuseOtherThanCommits(run: TreeRunner, { commits }: BundleContents, tips: readonly string[]) {
  const others = tips.filter((tip) => !commits.has(tip));
  if (others.length === 0) return;
  const stdin = `${others.join("\n")}\n`;
  const kinds = (await run(["cat-file", "--batch-check=%(objecttype)"], { stdin })).stdout.toString("latin1");
  if (kinds.split("\n").some((kind) => kind !== "" && kind !== "commit"))
    throw new BadBundle("It names something that is not a commit.");
}

async function treesOf(run: TreeRunner, commits: readonly string[], known: Map<string, string>): Promise<string[]> {
  const open = commits.filter((commit) => !known.has(commit));
  if (open.length > 0) {
    const stdin = `${open.join("\n")}\n`;
    const { stdout } = await run(["rev-list", "--no-commit-header", "--format=%H %T", "--no-walk", "--stdin"], {
      stdin,
    });
    for (const line of stdout.toString("latin1").split("\n")) {
      const [commit = "", tree = ""] = line.split(" ");
      if (isObjectId(tree)) known.set(commit, tree);
    }
  }
  return [...new Set(commits.flatMap((commit) => known.get(commit) ?? []))];
}

function idsIn({ stdout }: GitResult): string[] {
  return [...new Set(stdout.toString("latin1").split("\n").filter(isObjectId))];
}

/** Pack before index: git looks for packs by their index. */
async function moveIn(dir: string, aside: string): Promise<void> {
  const names = await readdir(join(aside, "pack")).catch(() => []);
  const wanted = names.filter((name) => /^pack-[0-9a-f]+\.(?:pack|idx)$/.test(name));
  const packs = join(dir, "objects/pack");
  await mkdir(packs, { recursive: true });
  for (const name of wanted.sort((a, b) => Number(a.endsWith(".idx")) - Number(b.endsWith(".idx")))) {
    await rename(join(aside, "pack", name), join(packs, name));
  }
  if (wanted.length > 0) await syncFolder(packs);
}
