import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { oneAtATime } from "../boundary/one-at-a-time.ts";
import { type Author, commitTree } from "./commit.ts";
import { BASE_REF, copyObjects, createRepository } from "./create.ts";
import { type DiffOptions, diffOf, numbersOf, patchOf } from "./diff.ts";
import type { RepositoryDiff } from "./diff-types.ts";
import { type Git, GitError, type GitOptions, type GitResult } from "./git.ts";
import { GitRefs } from "./git-refs.ts";
import { removeLeftovers } from "./leftovers.ts";
import { DEFAULT_LIMITS, type ReceiveLimits, UNTRUSTED } from "./limits.ts";
import { type Merged, type MergeNames, mergeOf } from "./merge.ts";
import { branchRef, isObjectId, objectId, ownRef } from "./names.ts";
import type { PersonFolders } from "./person-objects.ts";
import { resolveBase } from "./person-repository.ts";
import { type KnownTrees, type Received, type RefNaming, receiveBundle } from "./receive.ts";

export interface CommitStats {
  commit: string;
  tree: string;
  parent: string;
  files: number;
  insertions: number;
  deletions: number;
}

export interface LoggedCommit {
  commit: string;
  author: string;
  ts: number;
  subject: string;
}

export interface CloneSnapshot {
  ref: string;
  commit: string;
  ts: number;
  subject: string;
}

/**
 * The bare repository of an agent: the only one outside a sandbox that we write.
 *
 * REPOSITORY-4. Nothing in it is ever removed: no gc, no ref deleted. What was committed or saved can be restored.
 * REPOSITORY-5. Each call may be repeated after a kill at any moment, and then has the same result.
 * REPOSITORY-6. A branch moves only from the commit that the caller names.
 */
export class AgentRepository {
  readonly dir: string;
  readonly #git: Git;
  readonly #refs: GitRefs;
  #limits: ReceiveLimits;
  readonly #known: KnownTrees = { extents: new Map(), ofCommits: new Map() };

  private constructor(dir: string, git: Git, limits: ReceiveLimits) {
    this.dir = dir;
    this.#git = git;
    this.#refs = new GitRefs(dir, git);
    this.#limits = limits;
  }

  /** Touches nothing. */
  static open(dir: string, git: Git, limits: Partial<ReceiveLimits> = {}): AgentRepository {
    return new AgentRepository(resolve(dir), git, { ...DEFAULT_LIMITS, ...limits });
  }

  /** Limits for what is received from now on. */
  limit(limits: Partial<ReceiveLimits>): void {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
  }

  exists(): Promise<boolean> {
    return stat(join(this.dir, "HEAD")).then(
      () => true,
      () => false,
    );
  }

  /** `left` are the paths that `dirty` did not take: files of a filter such as LFS, and repositories within it. */
  create(
    from: PersonFolders,
    base: string,
    branch: string,
    options: { dirty?: boolean } = {},
  ): Promise<{ base: string; left: string[] }> {
    return oneAtATime(`${this.dir} create`, async () => {
      const isThere = await this.exists();
      await removeLeftovers(this.dir);
      if (!isThere) return createRepository(this.dir, this.#git, from, { base, branch, ...options });
      const known = await this.#refs.read(BASE_REF);
      if (known === undefined) throw new Error(`${this.dir} has no ${BASE_REF}: it is not a repository of an agent.`);
      return { base: known, left: [] };
    });
  }

  async commitOf(rev: string): Promise<string | undefined> {
    if (rev === "" || rev.startsWith("-") || rev.includes("\0")) return undefined;
    const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${rev}^{commit}`];
    const { stdout } = await this.#attempt(args);
    const id = stdout.toString("utf8").trim().split("\n").at(-1) ?? "";
    return isObjectId(id) ? id : undefined;
  }

  tip(branch: string): Promise<string | undefined> {
    return this.#refs.read(branchRef(branch));
  }

  async isAncestor(a: string, b: string): Promise<boolean> {
    const args = ["merge-base", "--is-ancestor", objectId(a), objectId(b)];
    return (await this.#run(args, { fine: [0, 1] })).code === 0;
  }

  /** One of the two where it is an ancestor of the other; undefined where they have no commit in common. */
  async mergeBase(a: string, b: string): Promise<string | undefined> {
    const { stdout } = await this.#run(["merge-base", objectId(a), objectId(b)], { fine: [0, 1] });
    return stdout.toString("utf8").split("\n").find(isObjectId);
  }

  /** Takes what a worker's sandbox wrote; see `receive.ts`. */
  receive(bundle: string, id: string, names: RefNaming = () => ({})): Promise<Received> {
    const trusted = () => this.shared();
    const { dir } = this;
    const receiver = { dir, git: this.#git, refs: this.#refs, limits: this.#limits, trusted, known: this.#known };
    const named: RefNaming = (refs) => Object.fromEntries(Object.entries(names(refs)).map(ownNames));
    return oneAtATime(`${dir} receive ${id}`, () => receiveBundle(receiver, bundle, id, named));
  }

  /** Names a commit, so that it stays. On disk when it returns. */
  async keep(ref: string, commit: string): Promise<void> {
    await this.#refs.set({ [ownRef(ref)]: objectId(commit) });
  }

  /** What refs below these name. */
  async commitsIn(...refs: readonly string[]): Promise<string[]> {
    const { stdout } = await this.#run(["for-each-ref", "--format=%(objectname)", ...refs.map(ownRef)]);
    return stdout.toString("utf8").split("\n").filter(isObjectId);
  }

  async stats(from: string, to: string): Promise<CommitStats> {
    const [line, numbers] = await Promise.all([
      this.#run(["rev-parse", "--verify", `${objectId(to)}^{tree}`]),
      numbersOf(this.dir, this.#git, objectId(from), to),
    ]);
    return { commit: to, tree: line.stdout.toString("utf8").trim(), parent: from, ...numbers };
  }

  merge(ours: string, theirs: string, names?: MergeNames): Promise<Merged> {
    return mergeOf(this.dir, this.#git, objectId(ours), objectId(theirs), names);
  }

  /**
   * Takes out what came between the two commits: merges with the later one as base and the earlier one as theirs. git
   * before 2.40 takes no base, so commits are made whose base it is.
   */
  async revert(tip: string, { commit, parent }: { commit: string; parent: string }): Promise<Merged> {
    const revisions = [commit, tip, parent].map((each) => `${objectId(each)}^{tree}`);
    const trees = (await this.#run(["rev-parse", ...revisions])).stdout.toString("utf8").trim().split("\n");
    const [after = "", now = "", before = ""] = trees;
    const author = { name: "agiraph" };
    const made = (tree: string, parents: string[], message: string) =>
      this.commitTree(tree, parents, message, author, 0);
    const base = await made(after, [], "what is undone");
    const ours = await made(now, [base], "the branch");
    const theirs = await made(before, [base], "before it");
    return this.merge(ours, theirs);
  }

  commitTree(tree: string, parents: string[], message: string, author: Author, seconds: number): Promise<string> {
    const run = (args: readonly string[], options: GitOptions) => this.#run(args, options);
    return commitTree(run, { tree, parents, message, author, seconds });
  }

  /** False if the branch is not at `from`. */
  moveBranch(branch: string, from: string, to: string): Promise<boolean> {
    return this.#refs.move(branchRef(branch), objectId(from), objectId(to));
  }

  diff(from: string, to: string, options: DiffOptions = {}): Promise<RepositoryDiff> {
    return diffOf(this.dir, this.#git, objectId(from), objectId(to), options);
  }

  patch(from: string, to: string): Promise<Buffer> {
    return patchOf(this.dir, this.#git, objectId(from), objectId(to));
  }

  /** Newest first. */
  async commits(from: string, to: string, limit: number): Promise<LoggedCommit[]> {
    const range = [`--max-count=${Math.max(0, Math.floor(limit))}`, objectId(to), `^${objectId(from)}`];
    // What a worker wrote has any character but NUL.
    const { stdout } = await this.#run(["log", "-z", "--no-mailmap", "--format=%H%x00%an%x00%at%x00%s", ...range]);
    const fields = stdout.toString("utf8").split("\0");
    return Array.from({ length: Math.floor(fields.length / 4) }, (_, at) => {
      const [commit = "", author = "", ts = "0", subject = ""] = fields.slice(at * 4, at * 4 + 4);
      return { commit, author, ts: Math.min(Number(ts), LATEST), subject };
    });
  }

  /** Undefined if there is no such file, or if it is larger. */
  async fileAt(commit: string, path: string, maxBytes: number): Promise<Buffer | undefined> {
    if (!isTreePath(path)) return undefined;
    const stdin = `${objectId(commit)}:${path}\0`;
    const about = (await this.#run(["cat-file", "--batch-check", "-z"], { stdin })).stdout.toString("utf8");
    const [, id = "", size = ""] = /^([0-9a-f]+) blob (\d+)\n$/.exec(about) ?? [];
    if (id === "" || Number(size) > maxBytes) return undefined;
    return (await this.#run(["cat-file", "blob", id], { maxBytes: Number(size) })).stdout;
  }

  /** A file or a folder. */
  async has(commit: string, path: string): Promise<boolean> {
    if (!isTreePath(path) || path.includes("\n")) return false;
    const stdin = `${objectId(commit)}:${path}\n`;
    const about = (await this.#run(["cat-file", "--batch-check=%(objecttype)"], { stdin })).stdout.toString("utf8");
    return /^(?:blob|tree)\n$/.test(about);
  }

  async snapshots(): Promise<CloneSnapshot[]> {
    const format = "--format=%(refname)%1f%(objectname)%1f%(committerdate:unix)%1f%(subject)";
    const { stdout } = await this.#run(["for-each-ref", format, "refs/agiraph/snapshots"]);
    return fieldsOf(stdout, "\n").map(([ref = "", commit = "", ts = "0", subject = ""]) => ({
      ref,
      commit,
      ts: Number(ts),
      subject,
    }));
  }

  /** The person's new commits, kept as refs/agiraph/upstream/COMMIT. */
  async fetchFrom(person: PersonFolders, ref: string): Promise<string> {
    const commit = await resolveBase(person, ref, this.#git);
    if (commit === undefined) throw new GitError(["fetch"], 1, `${person.top} has no commit named "${ref}".`);
    await copyObjects(this.dir, this.#git, person, [commit], await this.#tips());
    await this.keep(`refs/agiraph/upstream/${commit}`, commit);
    return commit;
  }

  /** Commits that came from the person. */
  shared(): Promise<string[]> {
    return this.commitsIn(BASE_REF, "refs/agiraph/upstream");
  }

  async timeOf(commit: string): Promise<number> {
    const { stdout } = await this.#run(["log", "--max-count=1", "--format=%ct", objectId(commit)]);
    return Number(stdout.toString("utf8").trim());
  }

  async #tips(): Promise<string[]> {
    const { stdout } = await this.#run(["for-each-ref", "--format=%(objectname)"]);
    return [...new Set(stdout.toString("utf8").split("\n").filter(isObjectId))];
  }

  #run(args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
    return this.#git.run(["--git-dir", this.dir, ...args], { limits: UNTRUSTED, ...options });
  }

  #attempt(args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
    return this.#git.attempt(["--git-dir", this.dir, ...args], { limits: UNTRUSTED, ...options });
  }
}

/** The latest time that a Date can hold, in seconds. */
const LATEST = 8_640_000_000_000;

function ownNames([ref, commit]: readonly [string, string]): [string, string] {
  return [ownRef(ref), objectId(commit)];
}

function fieldsOf(output: Buffer, end: string): string[][] {
  return output
    .toString("utf8")
    .split(end)
    .filter((entry) => entry !== "")
    .map((entry) => entry.split("\x1f"));
}

/** git takes `./a` and `../a` for paths from the current folder, which is in no tree, and fails. */
function isTreePath(path: string): boolean {
  return path !== "" && !path.includes("\0") && !/^\.\.?(?:\/|$)/.test(path);
}
