import { lstat } from "node:fs/promises";
import type { AgentRepository } from "./agent-repository.ts";
import { type Git, GitError } from "./git.ts";
import { giveObjects } from "./give-objects.ts";
import { branchRef, objectId } from "./names.ts";
import { asText, changesIn } from "./person-changes.ts";
import { lastValue, ownConfig, repositoryConfig } from "./person-config.ts";
import { BorrowedObjects, Mask } from "./person-objects.ts";
import { branchesInTheWay, linkOnTheWay, movePersonRef, readPersonRef } from "./person-refs.ts";
import { inspectRepository, type PersonRepository } from "./person-repository.ts";

/**
 * Brings work into the person's repository, at their request.
 *
 * DELIVER-1. A branch is a ref below refs/heads/agiraph/ and its objects; nothing else of theirs changes.
 * DELIVER-2. No hook, filter or helper of theirs runs for a branch. A merge into their files runs what checking out a file
 * needs (line ends, smudge filters such as LFS, of their own config); a pull request what git push needs (ssh, their
 * credential helper). Hooks stay off.
 * DELIVER-3. What is theirs is never overwritten: not a branch with commits that are not ours, not one that is checked
 * out, no changed or untracked file. Refused with what is in the way, before anything is written.
 * DELIVER-4. A conflict is found before their files are touched.
 */
export type Delivered = { ok: true; commit: string } | { ok: false; reason: string };

export async function deliverBranch(
  person: PersonRepository,
  agent: AgentRepository,
  branch: string,
  commit: string,
  git: Git,
): Promise<Delivered> {
  return inWords(async () => {
    const ref = branchRef(branch);
    if (!ref.startsWith("refs/heads/agiraph/"))
      throw new Refused(`Only branches named agiraph/… are written, not ${branch}.`);
    if ((await agent.commitOf(objectId(commit))) === undefined) throw new Refused(`The agent has no commit ${commit}.`);
    const current = await readPersonRef(person, ref, git);
    if (current === commit) return;
    await refuseTheirs(person, agent, { branch, ref, current, commit }, git);
    await giveObjects(person, agent, commit, git);
    await movePersonRef(person, ref, current, commit, git);
  }, commit);
}

/** Nothing is merged in their folder: the result is made and checked in ours, and their branch moves forward to it. */
export async function mergeIntoCheckedOut(
  person: PersonRepository,
  agent: AgentRepository,
  branch: string,
  commit: string,
  git: Git,
): Promise<Delivered> {
  let reached = commit;
  const delivered = await inWords(async () => {
    const found = await inspectRepository(person.top, git);
    if (!found.ok) throw new Refused(found.reason);
    const now = found.repository;
    if (now.branch === null)
      throw new Refused(`No branch is checked out in ${now.top}. Check one out: git switch BRANCH`);
    if (now.branch === branch)
      throw new Refused(`${branch} itself is checked out in ${now.top}. Switch to the branch to merge into.`);
    await refuseChanged(now, git);
    const done = await deliverBranch(now, agent, branch, commit, git);
    if (!done.ok) throw new Refused(done.reason);
    const head = await agent.fetchFrom(now, "HEAD");
    reached = await merged(now, agent, { branch, commit, head }, git);
    if (reached === head) return;
    await giveObjects(now, agent, reached, git);
    await refuseOverwriting(now, head, reached, git);
    const forward = ["merge", "--ff-only", "--no-autostash", "--no-verify-signatures", "--quiet", "--no-stat", reached];
    const result = await git.asPerson(forward, { cwd: now.top, seconds: 1800 });
    if (result.code !== 0) throw new Refused(`git did not merge: ${result.stderr.trim().slice(0, 2000)}`);
  }, commit);
  return delivered.ok ? { ok: true, commit: reached } : delivered;
}

export async function openPullRequest(
  person: PersonRepository,
  agent: AgentRepository,
  branch: string,
  request: { commit: string; title: string; body: string; remote?: string },
  git: Git,
): Promise<{ ok: true; commit: string; url: string } | { ok: false; reason: string }> {
  const { commit } = request;
  let url = "";
  const delivered = await inWords(async () => {
    const done = await deliverBranch(person, agent, branch, commit, git);
    if (!done.ok) throw new Refused(done.reason);
    const remote = await remoteOf(person, git, request.remote);
    const commands = `git push ${remote} ${branch} && gh pr create --head ${branch}`;
    const gh = await git.program(["gh", "--version"], { cwd: person.top, seconds: 30 }).catch(() => undefined);
    if (gh?.code !== 0) {
      throw new Refused(
        `The branch ${branch} is in your repository. gh is not installed, so push it and open the pull request in your browser: git push ${remote} ${branch}`,
      );
    }
    // Without -u, which would write their config.
    const push = ["push", "--no-verify", "--quiet", remote, `${commit}:${branchRef(branch)}`];
    const pushed = await git.asPerson(push, { cwd: person.top, seconds: 1800 });
    if (pushed.code !== 0)
      throw new Refused(`git push failed: ${pushed.stderr.trim().slice(0, 2000)}. By hand: ${commands}`);
    const create = ["gh", "pr", "create", "--head", branch, "--title", request.title, "--body-file", "-"];
    const env = { GH_PROMPT_DISABLED: "1" };
    const made = await git.program(create, { cwd: person.top, stdin: request.body, env, seconds: 300 });
    if (made.code !== 0) throw new Refused(`gh failed: ${made.stderr.trim().slice(0, 2000)}. By hand: ${commands}`);
    url = made.stdout.toString("utf8").trim().split("\n").at(-1) ?? "";
  }, commit);
  return delivered.ok ? { ...delivered, url } : delivered;
}

class Refused extends Error {}

async function inWords(work: () => Promise<void>, commit: string): Promise<Delivered> {
  try {
    await work();
    return { ok: true, commit };
  } catch (error) {
    if (error instanceof Refused || error instanceof GitError || error instanceof BorrowedObjects)
      return { ok: false, reason: error.message };
    throw error;
  }
}

interface WantedBranch {
  branch: string;
  ref: string;
  current: string | undefined;
  commit: string;
}

async function refuseTheirs(
  person: PersonRepository,
  agent: AgentRepository,
  wanted: WantedBranch,
  git: Git,
): Promise<void> {
  const { branch, ref, current, commit } = wanted;
  const list = ["--git-dir", person.gitDir, "worktree", "list", "--porcelain", "-z"];
  const fields = (await git.run(list)).stdout.toString("utf8").split("\0");
  const at = fields.indexOf(`branch ${ref}`);
  if (at >= 0) {
    const where = fields
      .slice(0, at)
      .findLast((field) => field.startsWith("worktree "))
      ?.slice("worktree ".length);
    throw new Refused(`${branch} is checked out in ${where}. Switch to another branch there first: git switch -`);
  }
  const [other] = await branchesInTheWay(person, ref, git);
  if (other !== undefined) {
    throw new Refused(
      `You have a branch named ${other}, so there can be none named ${branch}. Rename it: git branch -m ${other} NAME`,
    );
  }
  const link = await linkOnTheWay(person, ref);
  if (link !== undefined) {
    throw new Refused(
      `${link} leads elsewhere, so a branch would be written outside of your repository. Remove it: rm '${link}'`,
    );
  }
  if (current === undefined) return;
  // Everything that we ever delivered is still in the agent's repository.
  if ((await agent.commitOf(current)) === current) return;
  throw new Refused(
    `${branch} in your repository has commits that the agent did not make (${current.slice(0, 10)}), and delivering ` +
      `${commit.slice(0, 10)} would lose them. Keep them under another name: git branch -m ${branch} NAME`,
  );
}

async function refuseChanged(person: PersonRepository, git: Git): Promise<void> {
  await using mask = await Mask.open(person, git);
  const { changed } = await changesIn(mask, "normal");
  if (changed.length === 0) return;
  const names = changed.slice(0, 5).map(asText).join(", ");
  const more = changed.length > 5 ? ` and ${changed.length - 5} more` : "";
  throw new Refused(
    `You have changes that are not committed: ${names}${more}. Commit or stash them, or accept without --merge.`,
  );
}

/** Stricter than git merge, which overwrites ignored files (.env), and writes ORIG_HEAD before it looks. */
async function refuseOverwriting(person: PersonRepository, from: string, to: string, git: Git): Promise<void> {
  await using mask = await Mask.open(person, git);
  const names = async (filter: string) => {
    const args = ["diff-tree", "-r", "-z", "--no-commit-id", "--name-only", "--no-renames", `--diff-filter=${filter}`];
    const { stdout } = await mask.run([...args, from, to], { maxBytes: 512 * 1024 * 1024 });
    return stdout.toString("latin1").split("\0").filter(Boolean);
  };
  // Where case does not matter, a file that is renamed to another case is there under both names.
  const leaving = new Set((await names("D")).map((name) => name.toLowerCase()));
  const top = Buffer.from(`${person.top}/`);
  for (const name of await names("A")) {
    const isInTheWay = await lstat(Buffer.concat([top, Buffer.from(name, "latin1")])).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code !== "ENOENT",
    );
    if (!isInTheWay || leaving.has(name.toLowerCase())) continue;
    throw new Refused(
      `${asText(name)} is in the way: the branch brings a file of that name. Move yours away first; nothing was touched.`,
    );
  }
  await mask.run(["update-index", "-q", "--refresh"], { fine: [0, 1], seconds: 600 });
  const dry = mask.run(["read-tree", "--dry-run", "-m", "-u", from, to], { seconds: 600 });
  await dry.catch((error: unknown) => {
    if (!(error instanceof GitError)) throw error;
    const words = error.stderr
      .trim()
      .replace(/^error: /, "")
      .slice(0, 1000);
    throw new Refused(`A file of yours is in the way, and nothing was touched. Move it away first. git says: ${words}`);
  });
}

interface ToMerge {
  branch: string;
  commit: string;
  head: string;
}

async function merged(
  person: PersonRepository,
  agent: AgentRepository,
  { branch, commit, head }: ToMerge,
  git: Git,
): Promise<string> {
  if (await agent.isAncestor(commit, head)) return head;
  if (await agent.isAncestor(head, commit)) return commit;
  const result = await agent.merge(head, commit);
  if (result.kind === "conflict") {
    throw new Refused(
      `${branch} and ${person.branch} change the same lines: ${result.files.slice(0, 10).join(", ")}. Nothing was touched. ` +
        `Let the team take your commits in first (agiraph rebase), or merge by hand: git merge ${branch}`,
    );
  }
  const configs = [await repositoryConfig(person.gitDir, git), await ownConfig(git)];
  const value = (name: string) => configs.map((config) => lastValue(config, name)).find((found) => found !== undefined);
  const author = { name: value("user.name") ?? "agiraph", email: value("user.email") ?? "" };
  const times = await Promise.all([head, commit].map((id) => agent.timeOf(id)));
  const message = `Merge branch '${branch}'\n`;
  const id = await agent.commitTree(result.tree, [head, commit], message, author, Math.max(...times));
  await agent.keep(`refs/agiraph/merges/${id}`, id);
  return id;
}

async function remoteOf(person: PersonRepository, git: Git, wanted: string | undefined): Promise<string> {
  const { stdout } = await git.run(["--git-dir", person.gitDir, "remote"]);
  const known = stdout.toString("utf8").split("\n").filter(Boolean);
  const config = await repositoryConfig(person.gitDir, git);
  const usual = person.branch === null ? undefined : lastValue(config, `branch.${person.branch}.remote`);
  const remote = wanted ?? [usual, "origin", ...known].find((name) => name !== undefined && known.includes(name));
  if (remote !== undefined && known.includes(remote) && !remote.startsWith("-")) return remote;
  throw new Refused(
    remote === undefined
      ? `Your repository has no remote. Add one: git remote add origin URL`
      : `Your repository has no remote named ${remote}; it has: ${known.join(", ")}.`,
  );
}
