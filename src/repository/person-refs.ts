import { lstat, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Git, GitError } from "./git.ts";
import { isObjectId } from "./names.ts";
import type { PersonFolders } from "./person-objects.ts";

/**
 * The refs of a person's repository that are ours to write.
 *
 * PERSON-REF-1. A ref is written inside their git folder: git itself would follow a link there to any file, and add to a
 * log behind a link words that their config chooses.
 * PERSON-REF-2. A ref moves only from where the caller says it is, and nothing that it points to by name moves with it.
 * PERSON-REF-3. A lock that a killed delivery has left does not block the next.
 */
export async function movePersonRef(
  person: PersonFolders,
  ref: string,
  from: string | undefined,
  to: string,
  git: Git,
): Promise<void> {
  const args = ["--git-dir", person.gitDir, "update-ref", "--no-deref", ref, to, from ?? "0".repeat(to.length)];
  // Without a log: a ref and its objects are all that is added. The person's own git may hold the lock for a moment.
  const config = ["core.logAllRefUpdates=false", `core.filesRefLockTimeout=${LOCK_MS}`];
  let result = await git.attempt(args, { config });
  if (result.code !== 0 && /Unable to create '.*\.lock': File exists/s.test(result.stderr)) {
    // No git holds the lock of a single ref for that long, and of this one hardly any but ours.
    await rm(join(person.gitDir, `${ref}.lock`), { force: true });
    result = await git.attempt(args, { config });
  }
  if (result.code !== 0) throw new GitError(args.slice(2), result.code, result.stderr);
}

export async function readPersonRef(person: PersonFolders, ref: string, git: Git): Promise<string | undefined> {
  const { stdout } = await git.attempt(["--git-dir", person.gitDir, "rev-parse", "--verify", "--quiet", ref]);
  const id = stdout.toString("utf8").trim();
  return isObjectId(id) ? id : undefined;
}

/** A branch is a file, so it cannot have the name of the folder of another. */
export async function branchesInTheWay(person: PersonFolders, ref: string, git: Git): Promise<string[]> {
  const list = ["--git-dir", person.gitDir, "for-each-ref", "--format=%(refname)", "refs/heads/agiraph"];
  const names = (await git.run(list)).stdout.toString("utf8").split("\n").filter(Boolean);
  const others = names.filter((name) => ref.startsWith(`${name}/`) || name.startsWith(`${ref}/`));
  return others.map((name) => name.slice("refs/heads/".length));
}

/** What is neither a folder nor a plain file where the ref or its log would be. */
export async function linkOnTheWay(person: PersonFolders, ref: string): Promise<string | undefined> {
  const parts = ref.split("/");
  for (const path of [parts, ["logs", ...parts]]) {
    for (let length = 1; length <= path.length; length++) {
      const at = join(person.gitDir, ...path.slice(0, length));
      const stats = await lstat(at).catch(() => undefined);
      if (stats === undefined) break;
      if (!stats.isDirectory() && !stats.isFile()) return at;
    }
  }
  return undefined;
}

const LOCK_MS = 2000;
