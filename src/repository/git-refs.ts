import { open, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { oneAtATime } from "../boundary/one-at-a-time.ts";
import { type Git, GitError, type GitResult } from "./git.ts";
import { isObjectId } from "./names.ts";

/**
 * The refs of an agent's repository.
 *
 * REFS-1. A ref moves only from where the caller says it is.
 * REFS-2. A lock that a killed git has left does not block: the home has one process, so nobody else is writing.
 * REFS-3. When a move is reported, it is on disk.
 */
export class GitRefs {
  readonly #dir: string;
  readonly #git: Git;
  /** Folders whose names are on disk: nothing removes one. */
  readonly #synced = new Set<string>();

  constructor(dir: string, git: Git) {
    this.#dir = dir;
    this.#git = git;
  }

  /** A process for each look would be half of what a merge takes. What is not a file of its own is left to git. */
  async read(ref: string): Promise<string | undefined> {
    const file = await readFile(join(this.#dir, ref), "latin1").catch(() => undefined);
    const named = file?.trimEnd() ?? "";
    if (isObjectId(named)) return named;
    if (file === undefined && !(await isThere(join(this.#dir, "packed-refs")))) return undefined;
    const { stdout } = await this.#git.attempt(["--git-dir", this.#dir, "rev-parse", "--verify", "--quiet", ref]);
    const id = stdout.toString("utf8").trim();
    return isObjectId(id) ? id : undefined;
  }

  /** `from` is undefined for a ref that must not exist yet. Returns false if the ref is elsewhere. */
  move(ref: string, from: string | undefined, to: string): Promise<boolean> {
    return oneAtATime(this.#dir, async () => {
      const moved = await this.#moved(ref, from ?? "0".repeat(to.length), to);
      if (moved) await this.#sync([ref]);
      return moved;
    });
  }

  /** Moves each from wherever it is. */
  set(refs: Readonly<Record<string, string>>): Promise<void> {
    return oneAtATime(this.#dir, async () => {
      const open: [string, string][] = [];
      for (const [ref, to] of Object.entries(refs)) if ((await this.read(ref)) !== to) open.push([ref, to]);
      if (open.length === 0) return;
      const names = open.map(([ref]) => ref);
      const result = await this.#update(
        names,
        open.map(([ref, to]) => `update ${ref} ${to}\n`),
      );
      if (result.code !== 0) throw new GitError(["update-ref", ...names], result.code, result.stderr);
      await this.#sync(names);
    });
  }

  async #moved(ref: string, from: string, to: string): Promise<boolean> {
    const result = await this.#update([ref], [`update ${ref} ${to} ${from}\n`]);
    if (result.code === 0) return true;
    // git's message for a mismatch differs from version to version, so the ref itself is read.
    const current = (await this.read(ref)) ?? "0".repeat(to.length);
    if (current !== from) return false;
    throw new GitError(["update-ref", ref, to, from], result.code, result.stderr);
  }

  /** All of them or none. */
  async #update(refs: readonly string[], orders: readonly string[]): Promise<GitResult> {
    const args = ["--git-dir", this.#dir, "update-ref", "--no-deref", "--stdin"];
    const stdin = orders.join("");
    const result = await this.#git.attempt(args, { stdin });
    if (result.code === 0 || !/Unable to create '.*\.lock': File exists/s.test(result.stderr)) return result;
    for (const name of [...refs, "packed-refs", "HEAD"]) await rm(join(this.#dir, `${name}.lock`), { force: true });
    return this.#git.attempt(args, { stdin });
  }

  /** git syncs the file but not the folder that its name is in, nor the one that this folder's name is in if it is new. */
  async #sync(refs: readonly string[]): Promise<void> {
    for (const first of new Set(refs.map((ref) => dirname(join(this.#dir, ref))))) {
      const above: string[] = [];
      for (let folder = first; folder.length >= this.#dir.length; folder = dirname(folder)) {
        if (await isThere(folder)) await syncFolder(folder);
        if (this.#synced.has(folder)) break;
        above.push(folder);
      }
      for (const folder of above) this.#synced.add(folder);
    }
  }
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
