import { open, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { oneAtATime } from "../boundary/one-at-a-time.ts";
import { type Git, GitError } from "./git.ts";
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

  constructor(dir: string, git: Git) {
    this.#dir = dir;
    this.#git = git;
  }

  async read(ref: string): Promise<string | undefined> {
    const { stdout } = await this.#git.attempt(["--git-dir", this.#dir, "rev-parse", "--verify", "--quiet", ref]);
    const id = stdout.toString("utf8").trim();
    return isObjectId(id) ? id : undefined;
  }

  /** `from` is undefined for a ref that must not exist yet. Returns false if the ref is elsewhere. */
  move(ref: string, from: string | undefined, to: string): Promise<boolean> {
    return oneAtATime(this.#dir, async () => {
      const moved = await this.#update(ref, from ?? "0".repeat(to.length), to);
      if (moved) await this.#sync(ref);
      return moved;
    });
  }

  /** Moves it from wherever it is. */
  set(ref: string, to: string): Promise<void> {
    return oneAtATime(this.#dir, async () => {
      if ((await this.read(ref)) === to) return;
      await this.#update(ref, undefined, to);
      await this.#sync(ref);
    });
  }

  async #update(ref: string, from: string | undefined, to: string): Promise<boolean> {
    const args = ["--git-dir", this.#dir, "update-ref", "--no-deref", ref, to, ...(from === undefined ? [] : [from])];
    let result = await this.#git.attempt(args);
    if (result.code !== 0 && /Unable to create '.*\.lock': File exists/s.test(result.stderr)) {
      await this.#removeLocks(ref);
      result = await this.#git.attempt(args);
    }
    if (result.code === 0) return true;
    // git's message for a mismatch differs from version to version, so the ref itself is read.
    const current = (await this.read(ref)) ?? "0".repeat(to.length);
    if (from !== undefined && current !== from) return false;
    throw new GitError(args.slice(2), result.code, result.stderr);
  }

  async #removeLocks(ref: string): Promise<void> {
    for (const name of [ref, "packed-refs", "HEAD"]) await rm(join(this.#dir, `${name}.lock`), { force: true });
  }

  /** git syncs the file but not the folder that its name is in. */
  async #sync(ref: string): Promise<void> {
    for (let folder = dirname(join(this.#dir, ref)); folder.length >= this.#dir.length; folder = dirname(folder)) {
      if (
        await stat(folder).then(
          () => true,
          () => false,
        )
      )
        await syncFolder(folder);
    }
  }
}

export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
