import { constants, copyFile, mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { commitTree } from "./commit.ts";
import { type Git, GitError } from "./git.ts";
import { GitRefs, syncFolder } from "./git-refs.ts";
import { branchRef, objectId, quotedPath } from "./names.ts";
import { asText, changesIn } from "./person-changes.ts";
import { isPlainFile, Mask, type PersonFolders, refuseBorrowedObjects } from "./person-objects.ts";

export const BASE_REF = "refs/agiraph/base";

/**
 * Makes the agent's repository from the person's: one pack of what the base reaches, and nothing else. Other branches,
 * stashes and deleted commits stay with the person, whose repository may be packed, moved or removed afterwards.
 *
 * CREATE-1. It exists completely or not at all: it is built under another name, synced, and renamed at the end.
 * CREATE-2. The person's repository is only read.
 * CREATE-3. Uncommitted changes are taken only when the person says so, and never through a filter.
 */
export async function createRepository(
  dir: string,
  git: Git,
  from: PersonFolders,
  { base, branch, dirty }: { base: string; branch: string; dirty?: boolean },
): Promise<{ base: string; left: string[] }> {
  const part = `${dir}.part`;
  await rm(part, { recursive: true, force: true });
  await mkdir(dirname(dir), { recursive: true });
  await git.run(["init", "--quiet", "--bare", "--template=", `--object-format=${from.objectFormat}`, part]);
  await writeFile(join(part, "HEAD"), `ref: ${branchRef(branch)}\n`);
  if (await isPlainFile(join(from.gitDir, "shallow"), 64 * 1024 * 1024)) {
    await copyFile(join(from.gitDir, "shallow"), join(part, "shallow"), constants.COPYFILE_FICLONE);
  }
  const { commit, left } = dirty
    ? await withChanges(part, git, from, objectId(base))
    : { commit: objectId(base), left: [] };
  await copyObjects(part, git, from, [commit], []);
  await rm(join(part, "loose"), { recursive: true, force: true });
  await new GitRefs(part, git).set({ [BASE_REF]: commit, [branchRef(branch)]: commit });
  for (const folder of ["objects/pack", "objects", "."]) await syncFolder(join(part, folder));
  await rename(part, dir);
  await syncFolder(dirname(dir));
  return { base: commit, left };
}

/** Packs what the commits reach and `known` does not, straight from the person's objects into ours. */
export async function copyObjects(
  dir: string,
  git: Git,
  from: PersonFolders,
  wanted: readonly string[],
  known: readonly string[],
): Promise<void> {
  await refuseBorrowedObjects(from.gitDir);
  const others = [join(from.gitDir, "objects")];
  const loose = join(dir, "loose");
  if (
    await stat(loose).then(
      () => true,
      () => false,
    )
  )
    others.push(loose);
  const env = { GIT_DIR: dir, GIT_ALTERNATE_OBJECT_DIRECTORIES: others.map(quotedPath).join(":") };
  const stdin = [...wanted, "--not", ...known, ""].join("\n");
  // Deltas are taken as they are: making better ones would take most of the time, and the pack is read once a node.
  const config = ["pack.window=0", "pack.writeReverseIndex=false", "core.bigFileThreshold=512m"];
  const pack = join(dir, "objects/pack/pack");
  await git.run(["pack-objects", "--revs", "--quiet", "--delta-base-offset", "--non-empty", pack], {
    env,
    stdin,
    config,
    seconds: 3600,
  });
}

async function withChanges(
  part: string,
  git: Git,
  from: PersonFolders,
  base: string,
): Promise<{ commit: string; left: string[] }> {
  if (base !== from.head) {
    throw new GitError(["create"], 1, "Uncommitted changes belong to HEAD. Leave out --base, or --dirty include.");
  }
  await using mask = await Mask.open(from, git);
  const loose = join(part, "loose");
  await mkdir(loose);
  const changes = await changesIn(mask, "all");
  const left = [...changes.filtered, ...changes.nested].map(asText);
  const gone = new Set(changes.gone);
  const present = [...changes.changed.filter((path) => !gone.has(path)), ...changes.untracked];
  if (gone.size + present.length === 0) return { commit: base, left };
  // In an index that begins at the base, not at theirs: what they have staged but changed since is not what they see.
  const env = { GIT_INDEX_FILE: join(mask.dir, "index-of-ours"), GIT_OBJECT_DIRECTORY: loose };
  // Where git finds that an object is there already, it sets the time of its file, or of the pack that it is in.
  const aside = { ...env, GIT_ALTERNATE_OBJECT_DIRECTORIES: "" };
  const config = ["core.fsync=none"];
  await mask.run(["read-tree", base], { env, config });
  // What is gone first: a link may be where its folder was, and git refuses to look behind it.
  for (const [how, paths] of [
    [["--force-remove"], [...gone]],
    [["--add", "--remove", "--replace"], present],
  ] as const) {
    const stdin = Buffer.from(paths.map((path) => `${path}\0`).join(""), "latin1");
    await mask.run(["update-index", ...how, "-z", "--stdin"], { env: aside, config, stdin, seconds: 1800 });
  }
  const tree = (await mask.run(["write-tree", "--missing-ok"], { env: aside, config })).stdout.toString("utf8").trim();
  const author = { name: "agiraph" };
  const message = "Uncommitted changes at the start\n";
  // At a fixed time: the same changes give the same commit when the creation is repeated after a crash.
  const commit = await commitTree((args, more) => mask.run(args, { ...more, env: { ...env, ...more.env } }), {
    tree,
    parents: [base],
    message,
    author,
    seconds: 0,
  });
  return { commit, left };
}
