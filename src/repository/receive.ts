import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { BadBundle, BundleFile } from "./bundle-file.ts";
import { type Git, GitError, type GitOptions, type GitResult } from "./git.ts";
import { type ReceiveLimits, UNTRUSTED } from "./limits.ts";
import { branchRef, isObjectId, quotedPath } from "./names.ts";
import { linksOutside } from "./outside-links.ts";
import { type Refs, syncFolder } from "./refs.ts";
import { TreeCheck } from "./tree-check.ts";

export type Received = { ok: true; refs: Record<string, string> } | { ok: false; reason: string };

/**
 * Takes a bundle that a sandbox wrote. Its objects come into a folder of their own first, and into the repository only
 * when everything about them is known to be right.
 *
 * RECEIVE-1. What is refused leaves nothing behind, and what a kill left is removed by the next call.
 * RECEIVE-2. What is taken is complete, passes git's own checks (fsck), and is within the limits.
 * RECEIVE-3. Reading it is bounded in memory, time and disk, whatever it says about itself.
 * RECEIVE-4. Its refs are named only below refs/agiraph/incoming/.
 * RECEIVE-5. No new symbolic link in it leads out of the repository.
 */
export async function receiveBundle(repository: Receiver, path: string, id: string): Promise<Received> {
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
    await refuseUnknown(repository, header.needs);
    const tips = [...new Set(header.refs.values())];
    if (bundle.bytes > header.offset) await unpack(repository, bundle, header.offset, aside);
    await checkAll(repository, aside, tips);
    await moveIn(repository.dir, aside);
    for (const [name, commit] of header.refs) {
      await repository.refs.set(`refs/agiraph/incoming/${id}/${incomingName(name)}`, commit);
    }
    return { ok: true, refs: Object.fromEntries(header.refs) };
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
  refs: Refs;
  limits: ReceiveLimits;
  /** Refs whose symbolic links are the person's own. */
  trusted: () => Promise<string[]>;
  extents: ConstructorParameters<typeof TreeCheck>[2];
}

function incomingName(name: string): string {
  return name.replace(/^refs\//, "").replace(/[^A-Za-z0-9/-]/g, "-");
}

function inMiB(bytes: number): number {
  return Math.ceil(bytes / 1024 / 1024);
}

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
  await mkdir(join(aside, "pack"), { recursive: true });
  const args = ["index-pack", "--stdin", "--strict", "--fix-thin", `--max-input-size=${limits.bytes}`];
  const result = await git.attempt(args, {
    env: insideOf(dir, aside),
    stdin: bundle.pack(offset),
    seconds: limits.cpuSeconds * 4,
    config: FSCK,
    limits: { memoryMiB: limits.memoryMiB, cpuSeconds: limits.cpuSeconds, fileMiB: inMiB(limits.bytes) + 64 },
  });
  if (result.code !== 0) throw new BadBundle(`git refuses it: ${plain(result.stderr)}`);
}

/** With what git itself only warns of: as errors. Timestamps and mode bits of old are harmless. */
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
  const { dir, git, limits } = repository;
  const env = insideOf(dir, aside);
  const run = async (args: readonly string[], options: GitOptions = {}): Promise<GitResult> => {
    try {
      return await git.run(args, { limits: UNTRUSTED, seconds: 600, ...options, env });
    } catch (error) {
      throw error instanceof GitError ? new BadBundle(`git refuses it: ${plain(error.stderr)}`) : error;
    }
  };
  await checkSizes(git, aside, dir, limits);
  const asked = tips.map((tip) => `${tip}\n${tip}^{tree}\n`).join("");
  const kinds = (await run(["cat-file", "--batch-check=%(objecttype) %(objectname)"], { stdin: asked })).stdout;
  const lines = kinds.toString("latin1").trim().split("\n");
  const trees = lines.flatMap((line, at) => (at % 2 === 1 ? [line.split(" ")[1] ?? ""] : []));
  if (lines.some((line, at) => !line.startsWith(at % 2 === 0 ? "commit " : "tree "))) {
    throw new BadBundle("It names something that is not a commit.");
  }
  // Every new commit and everything in it is there: nothing can be missing later.
  await run(["rev-list", "--objects", "--quiet", "--stdin", "--not", "--all"], { stdin: `${tips.join("\n")}\n` });
  const check = new TreeCheck(run, limits, repository.extents);
  for (const tree of trees.filter(isObjectId)) await check.check(tree, tree.length / 2);
  const outside = await linksOutside(run, await repository.trusted(), tips);
  if (outside !== undefined) throw new BadBundle(`It has a symbolic link that leads out of the repository: ${outside}`);
}

/** The sizes stand in the pack, so nothing is inflated for this. */
async function checkSizes(git: Git, aside: string, dir: string, limits: ReceiveLimits): Promise<void> {
  const args = ["cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectsize)"];
  let count = 0;
  let total = 0;
  let largest = 0;
  let rest = "";
  await git.run(args, {
    env: { GIT_DIR: dir, GIT_OBJECT_DIRECTORY: aside },
    limits: UNTRUSTED,
    onOutput: (part) => {
      const lines = (rest + part.toString("latin1")).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        count += 1;
        total += Number(line);
        largest = Math.max(largest, Number(line));
      }
      return count <= limits.objects && total <= limits.inflatedBytes;
    },
  });
  if (largest > limits.fileBytes) {
    throw new BadBundle(`It has a file of ${inMiB(largest)} MiB; at most ${inMiB(limits.fileBytes)} are taken.`);
  }
  if (count > limits.objects) throw new BadBundle(`It has more than ${limits.objects} objects.`);
  if (total > limits.inflatedBytes) throw new BadBundle(`It unpacks to more than ${inMiB(limits.inflatedBytes)} MiB.`);
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
