import { constants, copyFile, lstat, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Git, GitOptions, GitResult } from "./git.ts";
import { quotedPath } from "./names.ts";
import { type ConfigValues, lastValue, ownConfig, ownExcludesFile, repositoryConfig } from "./person-config.ts";

/** What is needed to find the parts of a person's repository. */
export interface PersonFolders {
  top: string;
  /** The common git folder. */
  gitDir: string;
  /** Where HEAD and the index are: another one in a linked worktree. */
  workGitDir: string;
  head: string;
  objectFormat: "sha1" | "sha256";
}

/**
 * A git folder of ours that looks at a person's files, index and objects. Their config and hooks are in their git
 * folder, so git never sees them here: no setting of theirs has to be known in order to be switched off.
 *
 * MASK-1. No filter, file monitor, hook or driver of the repository runs, whatever its name.
 * MASK-2. The person's index is a copy, and what is written goes to an object folder of ours.
 * MASK-3. Objects are read from this repository alone, not from where its files point.
 */
export class Mask implements AsyncDisposable {
  readonly dir: string;
  readonly #git: Git;
  readonly #env: Record<string, string>;
  readonly #config: readonly string[];

  private constructor(dir: string, git: Git, env: Record<string, string>, config: readonly string[]) {
    this.dir = dir;
    this.#git = git;
    this.#env = env;
    this.#config = config;
  }

  static async open(person: PersonFolders, git: Git): Promise<Mask> {
    await refuseBorrowedObjects(person.gitDir);
    const dir = await mkdtemp(join(git.temporary, "repository-"));
    try {
      const [config, own] = await Promise.all([repositoryConfig(person.gitDir, git), ownConfig(git)]);
      await fill(dir, person, config, own);
      const env = {
        GIT_DIR: dir,
        GIT_WORK_TREE: person.top,
        GIT_INDEX_FILE: join(dir, "index"),
        GIT_OBJECT_DIRECTORY: join(dir, "objects"),
        GIT_ALTERNATE_OBJECT_DIRECTORIES: quotedPath(join(person.gitDir, "objects")),
      };
      return new Mask(dir, git, env, [`core.excludesFile=${ownExcludesFile(own, git.personEnvironment)}`]);
    } catch (error) {
      await rm(dir, { recursive: true, force: true });
      throw error;
    }
  }

  run(args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
    const { GIT_WORK_TREE = "/" } = this.#env;
    return this.#git.run(args, {
      cwd: GIT_WORK_TREE,
      ...options,
      env: { ...this.#env, ...(options.env ?? {}) },
      config: [...this.#config, ...(options.config ?? [])],
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** Throws with the reason: the files could otherwise name another repository of the person and have it read. */
export async function refuseBorrowedObjects(gitDir: string): Promise<void> {
  const objects = join(gitDir, "objects");
  const alternates = await readFile(join(objects, "info/alternates"), "utf8").catch(() => "");
  const from = alternates.split("\n").find((line) => line.trim() !== "" && !line.startsWith("#"));
  if (from !== undefined) throw new BorrowedObjects(from);
  for (const folder of [gitDir, objects]) {
    const stats = await lstat(folder).catch(() => undefined);
    if (stats?.isSymbolicLink()) throw new BorrowedObjects(folder);
  }
  const folders = (await entriesIn(objects)).filter((name) => name === "pack" || /^[0-9a-f]{2}$/.test(name));
  for (const folder of folders) await entriesIn(join(objects, folder));
}

/** Throws at the first symbolic link. */
async function entriesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const link = entries.find((entry) => entry.isSymbolicLink());
  if (link) throw new BorrowedObjects(join(folder, link.name));
  return entries.map((entry) => entry.name);
}

export class BorrowedObjects extends Error {
  constructor(from: string) {
    super(
      `Its objects are partly those of another repository (${from}), which the team must not read. ` +
        `Make it complete: git repack -a -d && rm -f .git/objects/info/alternates`,
    );
  }
}

export async function isPlainFile(path: string, mostBytes: number): Promise<boolean> {
  return lstat(path).then(
    (stats) => stats.isFile() && stats.size <= mostBytes,
    () => false,
  );
}

const MOST_INDEX = 1024 * 1024 * 1024;
const MOST_LIST = 4 * 1024 * 1024;

async function fill(dir: string, person: PersonFolders, config: ConfigValues, own: ConfigValues): Promise<void> {
  for (const folder of ["objects", "refs", "info"]) await mkdir(join(dir, folder));
  await writeFile(join(dir, "HEAD"), `${person.head}\n`);
  await writeFile(join(dir, "config"), configFile(person, config, own));
  await copyIfPlain(join(person.gitDir, "info/exclude"), join(dir, "info/exclude"), MOST_LIST);
  await copyIfPlain(join(person.gitDir, "info/attributes"), join(dir, "info/attributes"), MOST_LIST);
  await copyIfPlain(join(person.workGitDir, "info/sparse-checkout"), join(dir, "info/sparse-checkout"), MOST_LIST);
  await copyIfPlain(join(person.gitDir, "shallow"), join(dir, "shallow"), MOST_LIST);
  await copyIndex(person.workGitDir, dir);
}

/** What is in the index counts as unchanged only when it is older than the index, so the copy must not look newer. */
async function copyIndex(from: string, to: string): Promise<void> {
  const names = (await readdir(from)).filter((name) => name === "index" || /^sharedindex\.[0-9a-f]+$/.test(name));
  for (const name of names) {
    const stats = await lstat(join(from, name));
    await copyIfPlain(join(from, name), join(to, name), MOST_INDEX);
    const older = stats.mtimeMs / 1000 - 2;
    await utimes(join(to, name), older, older).catch(() => {});
  }
}

async function copyIfPlain(from: string, to: string, mostBytes: number): Promise<void> {
  if (await isPlainFile(from, mostBytes)) await copyFile(from, to, constants.COPYFILE_FICLONE);
}

/** How files are written and compared on this machine. Words and numbers only, so none of them can name a program. */
const PLAIN_SETTINGS = [
  "core.autocrlf",
  "core.checkstat",
  "core.eol",
  "core.filemode",
  "core.ignorecase",
  "core.precomposeunicode",
  // Who may read the objects that a delivery adds.
  "core.sharedrepository",
  "core.sparsecheckout",
  "core.sparsecheckoutcone",
  "core.symlinks",
  "core.trustctime",
];

function configFile(person: PersonFolders, config: ConfigValues, own: ConfigValues): string {
  const plain = PLAIN_SETTINGS.flatMap((name) => {
    const value = lastValue(config, name) ?? lastValue(own, name);
    return value !== undefined && /^[a-z0-9]{1,20}$/i.test(value) ? [`\t${name.slice("core.".length)} = ${value}`] : [];
  });
  const format = person.objectFormat === "sha256" ? ["[extensions]", "\tobjectformat = sha256"] : [];
  return ["[core]", "\trepositoryformatversion = 1", "\tbare = false", ...plain, ...format, ""].join("\n");
}
