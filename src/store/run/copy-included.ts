import { type BigIntStats, closeSync, fstatSync } from "node:fs";
import { copyHashed } from "../disk/copy-file.ts";
import { closeFolder, type Folder, glance, WalkError, type WalkErrorKind } from "../disk/folder.ts";
import { createFileAside, moveTo, removeIn } from "../disk/folder-changes.ts";
import { TimeSlices } from "../disk/time-slices.ts";
import { type OpenFile, openFile, openFolder } from "../disk/walk.ts";
import { ignoreInClone } from "./clone-excludes.ts";

export interface Included {
  copied: { path: string; bytes: number }[];
  /** With the reason, as a sentence. */
  left: { path: string; why: string }[];
}

const ASIDE = "agiraph-included-file";
const MOST_TRIES = 3;

/**
 * Copies ignored files of the person's folder (`.worktreeinclude`) into a clone that no worker has touched yet.
 *
 * INCLUDED-1. No link is followed on either side, and what is there is never replaced.
 * INCLUDED-2. A file is there whole, with its mode, or not at all; it is done again after a kill.
 * INCLUDED-3. What changes while it is copied is copied again, and left out where it goes on changing.
 * INCLUDED-4. The files are ignored in the clone too, whatever it was that ignored them in the person's folder: no
 *     commit of a worker has them.
 * INCLUDED-5. All together are at most `mostBytes`, however they grow.
 */
export async function copyIncluded(
  from: string,
  clone: string,
  paths: readonly string[],
  mostBytes: number,
): Promise<Included> {
  const copier = new Copier(from, clone, mostBytes);
  const wanted = paths.filter((path) => copier.isUsable(path));
  // Before the first is copied: a kill leaves no file that could be committed.
  await ignoreInClone(clone, wanted);
  const slices = new TimeSlices();
  for (const path of wanted) {
    await copier.copy(path);
    if (slices.isDue) await slices.rest();
  }
  return copier.result;
}

class Copier {
  readonly result: Included = { copied: [], left: [] };
  readonly #from: string;
  readonly #clone: string;
  #room: number;

  constructor(from: string, clone: string, mostBytes: number) {
    this.#from = from;
    this.#clone = clone;
    this.#room = mostBytes;
  }

  isUsable(path: string): boolean {
    const isGit = path.split("/").some((name) => name.toLowerCase() === ".git");
    // A line break would be another pattern.
    const why = isGit ? "It is a part of a repository." : CONTROL.test(path) ? "Its name has a control character." : "";
    if (why) this.result.left.push({ path, why });
    return why === "";
  }

  async copy(path: string): Promise<void> {
    try {
      const done = await this.#copied(path);
      if (typeof done === "string") this.result.left.push({ path, why: done });
      else this.result.copied.push({ path, bytes: done });
    } catch (error) {
      if (!(error instanceof WalkError)) throw error;
      this.result.left.push({ path, why: WHY[error.kind] ?? "It cannot be opened." });
    }
  }

  async #copied(path: string): Promise<number | string> {
    const folders = path.split("/");
    const name = folders.pop() ?? "";
    using open = new OpenFolders();
    const source = open.add(openFolder(this.#from, folders));
    const file = openFile(source, name);
    try {
      const git = open.add(openFolder(this.#clone, [GIT]));
      const target = open.add(openFolder(this.#clone, folders, { createFrom: 0 }));
      if (glance(target, name)) return "There is a file of this name in the clone.";
      const bytes = await this.#wholeCopy(file, git);
      if (typeof bytes === "number") moveTo(git, ASIDE, target, name);
      return bytes;
    } finally {
      file.close();
    }
  }

  /** Beside the files, where git does not look. Why not, in words. */
  async #wholeCopy({ fd }: OpenFile, git: Folder): Promise<number | string> {
    for (let tried = 0; tried < MOST_TRIES; tried++) {
      const before = fstatSync(fd, { bigint: true });
      const size = Number(before.size);
      if (size > this.#room) return "With it there would be too much.";
      const bytes = await copyAside(git, fd, size, Number(before.mode) & 0o777);
      if (bytes !== size || !isSame(before, fstatSync(fd, { bigint: true }))) continue;
      this.#room -= size;
      return size;
    }
    removeIn(git, ASIDE);
    return "It changes all the time.";
  }
}

class OpenFolders implements Disposable {
  readonly #folders: Folder[] = [];

  add(folder: Folder): Folder {
    this.#folders.push(folder);
    return folder;
  }

  [Symbol.dispose](): void {
    for (const folder of this.#folders) closeFolder(folder);
  }
}

const GIT = ".git";
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that are looked for
const CONTROL = /[\x00-\x1f\x7f]/;

const WHY: Partial<Record<WalkErrorKind, string>> = {
  missing: "It is gone.",
  link: "A symbolic link is in the way, and none is followed.",
  special: "It is not a regular file.",
  is_folder: "It is a folder.",
  not_folder: "A file is in the way.",
  denied: "It may not be read.",
};

async function copyAside(git: Folder, from: number, size: number, mode: number): Promise<number> {
  // Of a copy that a kill cut off.
  removeIn(git, ASIDE);
  const to = await createFileAside(git, ASIDE, mode);
  try {
    return (await copyHashed(from, to, size)).bytes;
  } finally {
    closeSync(to);
  }
}

function isSame(a: BigIntStats, b: BigIntStats): boolean {
  return a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs;
}
