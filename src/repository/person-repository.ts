import { lstat, readFile, realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { didYouMean } from "../boundary/nearest.ts";
import { type Git, GitError } from "./git.ts";
import { isObjectId } from "./names.ts";
import { changesIn } from "./person-changes.ts";
import { lastValue, ownConfig, repositoryConfig } from "./person-config.ts";
import { BorrowedObjects, Mask, type PersonFolders, refuseBorrowedObjects } from "./person-objects.ts";
import { submodulesAndLfs } from "./tree-notes.ts";

/**
 * Looks at a person's repository.
 *
 * PERSON-REPOSITORY-1. Nothing in the repository changes: files, index, HEAD, refs, config, objects.
 * PERSON-REPOSITORY-2. Nothing that its config or files name is run.
 * PERSON-REPOSITORY-3. What we cannot work on is refused, with what to do about it.
 * PERSON-REPOSITORY-4. Its files are those beside its own git folder: a folder that only points to a repository, or a
 * repository that points to other files, is refused.
 */
export interface PersonRepository extends PersonFolders {
  /** The branch that is checked out; null when HEAD is detached. */
  branch: string | null;
  /** Not committed. A folder that is wholly untracked counts as one. */
  changed: number;
  untracked: number;
  submodules: string[];
  usesLfs: boolean;
  isShallow: boolean;
}

export type Inspected = { ok: true; repository: PersonRepository } | { ok: false; reason: string };

export async function inspectRepository(folder: string, git: Git): Promise<Inspected> {
  try {
    return { ok: true, repository: await inspect(folder, git) };
  } catch (error) {
    if (error instanceof UnusableRepository || error instanceof BorrowedObjects)
      return { ok: false, reason: error.message };
    if (error instanceof GitError) return { ok: false, reason: `git cannot read ${folder}: ${error.message}` };
    throw error;
  }
}

/** Where its parts are, also in the middle of a merge: to look at its files. Throws in words where it is none. */
export async function repositoryFolders(folder: string, git: Git): Promise<PersonFolders> {
  const { folders } = await find(folder, git);
  const head = await resolveBase(folders, "HEAD", git);
  if (head === undefined) throw new UnusableRepository(`${folders.top} has no commit.`);
  return { ...folders, head };
}

/** The commit of what the person calls a branch, a tag or a commit. */
export async function resolveBase(
  person: Pick<PersonFolders, "workGitDir">,
  ref: string,
  git: Git,
): Promise<string | undefined> {
  if (ref === "" || ref.startsWith("-") || ref.length > 1000 || ref.includes("\0")) return undefined;
  const args = ["--git-dir", person.workGitDir, "rev-parse", "--verify", "--quiet", "--end-of-options"];
  const { stdout } = await git.attempt([...args, `${ref}^{commit}`], { seconds: 60 });
  const id = stdout.toString("utf8").trim().split("\n").at(-1) ?? "";
  return isObjectId(id) ? id : undefined;
}

/** The message for a name that is not a branch, tag or commit of the person's. */
export async function noSuchRef(person: Pick<PersonFolders, "gitDir" | "top">, ref: string, git: Git): Promise<string> {
  return `${person.top} has no branch, tag or commit named "${ref}".${didYouMean(ref, await refNames(person, git))}`;
}

/** Branches and tags as people write them, the newest first. */
async function refNames(person: Pick<PersonFolders, "gitDir">, git: Git): Promise<string[]> {
  const list = ["for-each-ref", "--sort=-creatordate", `--count=${MOST_REFS}`, "--format=%(refname)"];
  const { stdout } = await git.attempt([
    "--git-dir",
    person.gitDir,
    ...list,
    "refs/heads",
    "refs/tags",
    "refs/remotes",
  ]);
  const names = stdout.toString("utf8").split("\n").filter(Boolean);
  return names.map((name) => name.replace(/^refs\/(?:heads|tags|remotes)\//, ""));
}

const MOST_REFS = 1000;

class UnusableRepository extends Error {}

/** merge-tree --write-tree came with it. */
const OLDEST: readonly [number, number] = [2, 38];

async function inspect(folder: string, git: Git): Promise<PersonRepository> {
  await checkVersion(git);
  const { folders, isShallow } = await find(folder, git);
  const config = await repositoryConfig(folders.gitDir, git);
  const isPartial = [...config.keys()].some((name) => /^(?:extensions\.partialclone|remote\..*\.promisor)$/.test(name));
  if (isPartial) {
    throw new UnusableRepository(
      `${folders.top} is a partial clone: a part of its history is only on the server. ` +
        `Clone it whole (git clone without --filter) and work there.`,
    );
  }
  await refuseUnfinished(folders);
  await refuseBorrowedObjects(folders.gitDir);
  const head = await resolveBase(folders, "HEAD", git);
  if (head === undefined) {
    throw new UnusableRepository(`${folders.top} has no commit yet. Make one: git add -A && git commit -m "Begin"`);
  }
  const found = { ...folders, head };
  await using mask = await Mask.open(found, git);
  const [changes, notes, branch] = await Promise.all([
    changesIn(mask, "normal"),
    submodulesAndLfs(mask, head),
    git.attempt(["--git-dir", folders.workGitDir, "symbolic-ref", "--quiet", "HEAD"]),
  ]);
  const name = branch.stdout
    .toString("utf8")
    .trim()
    .replace(/^refs\/heads\//, "");
  return {
    ...found,
    branch: name === "" ? null : name,
    changed: changes.changed.length,
    untracked: changes.untracked.length,
    ...notes,
    isShallow,
  };
}

async function checkVersion(git: Git): Promise<void> {
  const words = await git.line(["version"], { seconds: 30 }).catch((error: unknown) => {
    throw new UnusableRepository(
      `git is needed and could not be started. Install git 2.38 or newer. (${String(error)})`,
    );
  });
  if (isTooOld(words)) throw new UnusableRepository(`This is ${words}; 2.38 or newer is needed. Update git.`);
}

/** Of what `git --version` says. */
export function isTooOld(words: string): boolean {
  const [, major = "0", minor = "0"] = /(\d+)\.(\d+)/.exec(words) ?? [];
  return Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1]);
}

interface Found {
  folders: Omit<PersonFolders, "head">;
  isShallow: boolean;
}

async function find(folder: string, git: Git): Promise<Found> {
  const there = await realpath(folder).catch(() => {
    throw new UnusableRepository(`${folder} does not exist.`);
  });
  const safe = (await ownConfig(git)).get("safe.directory") ?? [];
  const config = safe.map((value) => `safe.directory=${value}`);
  const ask = async (...args: string[]) =>
    git.line(["-C", there, "rev-parse", "--path-format=absolute", ...args], { config, seconds: 30 });
  const about = await ask("--is-bare-repository", "--is-inside-git-dir", "--is-shallow-repository").catch(
    (error: unknown) => {
      throw error instanceof GitError ? new UnusableRepository(unreadable(there, error.stderr)) : error;
    },
  );
  const [isBare, isInside, isShallow] = about.split("\n").map((word) => word === "true");
  if (isBare) {
    throw new UnusableRepository(
      `${there} is a bare repository, without files. Name a folder that it is checked out in.`,
    );
  }
  if (isInside) throw new UnusableRepository(`${there} is inside a git folder. Name the folder that holds your files.`);
  const [top, workGitDir, gitDir] = await Promise.all([
    ask("--show-toplevel"),
    ask("--absolute-git-dir"),
    ask("--git-common-dir"),
  ]);
  const objectFormat = (await ask("--show-object-format")) === "sha256" ? "sha256" : "sha1";
  const folders = {
    top: await realpath(top),
    gitDir: await realpath(gitDir),
    workGitDir: await realpath(workGitDir),
    objectFormat,
  } as const;
  if (`${there}/` !== `${folders.top}/` && !there.startsWith(`${folders.top}/`)) {
    throw new UnusableRepository(
      `The repository of ${there} says that its files are in ${folders.top} (core.worktree). Name that folder.`,
    );
  }
  await refusePointers(folders, git);
  return { folders, isShallow: isShallow === true };
}

function unreadable(folder: string, stderr: string): string {
  if (stderr.includes("dubious ownership")) {
    return (
      `${folder} belongs to another user, so git refuses to work there. ` +
      `If you trust it: git config --global --add safe.directory '${folder}'`
    );
  }
  if (stderr.includes("not a git repository")) {
    return (
      `${folder} is not a git repository. Make it one (git init && git add -A && git commit -m "Begin"), ` +
      `or let the team only read it.`
    );
  }
  return `git cannot read the repository of ${folder}: ${stderr.trim()}`;
}

/** The git folder must agree that these are its files. Otherwise a folder could have any repository of theirs read. */
async function refusePointers(folders: Omit<PersonFolders, "head">, git: Git): Promise<void> {
  const link = join(folders.top, ".git");
  const stats = await lstat(link).catch(() => undefined);
  if (stats?.isSymbolicLink()) {
    throw new UnusableRepository(
      `${link} is a symbolic link. Name the folder that it leads to, where the repository is.`,
    );
  }
  if (stats?.isDirectory() && (await realpath(link)) === folders.gitDir && folders.workGitDir === folders.gitDir)
    return;
  if (stats?.isFile() && (await isAcknowledged(folders, link, git))) return;
  throw new UnusableRepository(
    `${link} leads to the repository ${folders.gitDir}, which does not know these files. ` +
      `If they belong together: git worktree repair, or name the folder of the repository itself.`,
  );
}

async function isAcknowledged(folders: Omit<PersonFolders, "head">, link: string, git: Git): Promise<boolean> {
  if (folders.workGitDir !== folders.gitDir) {
    if (dirname(folders.workGitDir) !== join(folders.gitDir, "worktrees")) return false;
    const back = (await readFile(join(folders.workGitDir, "gitdir"), "utf8").catch(() => "")).trim();
    return (await realpath(resolve(folders.workGitDir, back)).catch(() => "")) === (await realpath(link));
  }
  // A submodule: its git folder is in that of its parent, and names its files.
  const named = lastValue(await repositoryConfig(folders.gitDir, git), "core.worktree");
  if (named === undefined) return false;
  return (await realpath(resolve(folders.gitDir, named)).catch(() => "")) === folders.top;
}

const UNFINISHED: readonly (readonly [file: string, what: string, advice: string])[] = [
  ["rebase-merge", "a rebase", "git rebase --continue, or git rebase --abort"],
  ["rebase-apply", "a rebase or git am", "git rebase --continue (git am --continue), or --abort"],
  ["MERGE_HEAD", "a merge", "git commit, or git merge --abort"],
  ["CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --continue, or --abort"],
  ["REVERT_HEAD", "a revert", "git revert --continue, or --abort"],
  ["sequencer", "a cherry-pick or revert of several commits", "git cherry-pick --continue, or --abort"],
  ["BISECT_LOG", "a bisect", "git bisect reset"],
];

async function refuseUnfinished(folders: Omit<PersonFolders, "head">): Promise<void> {
  for (const [file, what, advice] of UNFINISHED) {
    const isThere = await lstat(join(folders.workGitDir, file)).then(
      () => true,
      () => false,
    );
    if (isThere) throw new UnusableRepository(`${folders.top} is in the middle of ${what}. End it first: ${advice}.`);
  }
}
