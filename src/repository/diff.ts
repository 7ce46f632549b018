import { DiffParser, Lines } from "./diff-parse.ts";
import type { DiffFile, RepositoryDiff } from "./diff-types.ts";
import { type Git, GitError } from "./git.ts";
import { UNTRUSTED } from "./limits.ts";

export interface DiffOptions {
  path?: string;
  context?: number;
  maxBytes?: number;
}

/** The difference between two commits or trees, as the page and the terminal show it. */
export async function diffOf(
  dir: string,
  git: Git,
  from: string,
  to: string,
  options: DiffOptions = {},
): Promise<RepositoryDiff> {
  const paths = options.path === undefined ? [] : await pathsOf(dir, git, from, to, options.path);
  if (paths === undefined) return { from, to, files: [], files_total: 0, insertions: 0, deletions: 0, more: false };
  const limits = { files: MOST_FILES, linesOfFile: MOST_LINES, bytes: options.maxBytes ?? MOST_BYTES };
  const parser = new DiffParser(limits);
  const lines = new Lines((line) => parser.line(line) && !parser.isFull);
  const context = Math.min(Math.max(options.context ?? 3, 0), 1_000_000);
  await readPatch(
    git,
    ["--git-dir", dir, ...TREE_DIFF, "--raw", "--numstat", "-p", `-U${context}`, from, to, "--", ...paths],
    (part) => lines.take(part),
  );
  lines.flush();
  parser.markUnread();
  const sizes = await sizesOf(
    dir,
    git,
    parser.files.flatMap((file) => (file.binary ? [file.object] : [])),
  );
  const files = parser.files.map(({ object, ...file }): DiffFile => {
    const bytes = file.binary ? sizes.get(object) : undefined;
    return bytes === undefined ? file : { ...file, bytes };
  });
  const { filesTotal, insertions, deletions } = parser;
  return { from, to, files, files_total: filesTotal, insertions, deletions, more: files.length < filesTotal };
}

/** As `git apply` reads it. What is beyond the limit is left out, and the end says so. */
export async function patchOf(dir: string, git: Git, from: string, to: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  const isWhole = await readPatch(git, ["--git-dir", dir, ...TREE_DIFF, "-p", "--binary", from, to], (part) => {
    parts.push(part);
    bytes += part.length;
    return bytes <= MOST_PATCH;
  });
  const whole = Buffer.concat(parts);
  if (isWhole && whole.length <= MOST_PATCH) return whole;
  const end = whole.lastIndexOf(10, MOST_PATCH);
  const why = isWhole ? "it has more than 16 MB" : "a file of it is too large to be read";
  const words = `\nThe patch ends here: ${why}. Take the branch instead (agiraph accept).\n`;
  return Buffer.concat([whole.subarray(0, end + 1), Buffer.from(words)]);
}

/** False where git ended early: it reads a file that is added or removed whole, however large, to say that it differs. */
async function readPatch(git: Git, args: readonly string[], onOutput: (part: Buffer) => boolean): Promise<boolean> {
  const options = { onOutput, config: DIFF_CONFIG, limits: UNTRUSTED, seconds: 120 };
  const { code, stderr } = await git.attempt(args, options);
  if (code === 0) return true;
  if (/out of memory|cannot allocate memory/i.test(stderr)) return false;
  throw new GitError(args.slice(2), code, stderr);
}

export async function numbersOf(
  dir: string,
  git: Git,
  from: string,
  to: string,
): Promise<{ files: number; insertions: number; deletions: number }> {
  const parser = new DiffParser({ files: 0, linesOfFile: 0, bytes: 0 });
  const lines = new Lines((line) => parser.line(line));
  await git.run(["--git-dir", dir, ...TREE_DIFF, "--raw", "--numstat", from, to], {
    onOutput: (part) => lines.take(part),
    config: DIFF_CONFIG,
    limits: UNTRUSTED,
    seconds: 120,
  });
  lines.flush();
  return { files: parser.filesTotal, insertions: parser.insertions, deletions: parser.deletions };
}

const MOST_FILES = 3_000;
const MOST_LINES = 3_000;
const MOST_BYTES = 2 * 1024 * 1024;
const MOST_PATCH = 16 * 1024 * 1024;

const TREE_DIFF = [
  "diff-tree",
  "-r",
  "-M",
  "--no-commit-id",
  "--no-ext-diff",
  "--no-textconv",
  "--no-color",
  "--full-index",
  "--src-prefix=a/",
  "--dst-prefix=b/",
];
const DIFF_CONFIG = ["core.bigFileThreshold=8m", "diff.renameLimit=1000", "core.quotePath=true", "diff.orderFile="];

/** A renamed file has two paths, and git finds that it was renamed only when it sees both. Nothing: it did not change. */
async function pathsOf(dir: string, git: Git, from: string, to: string, path: string): Promise<string[] | undefined> {
  let found: string[] | undefined;
  const parser = new DiffParser({ files: 1, linesOfFile: 0, bytes: 0 });
  const lines = new Lines((line) => {
    parser.files.length = 0;
    parser.line(line);
    const [file] = parser.files;
    if (file?.path === path) found = [...(file.old_path === undefined ? [] : [file.old_path]), file.path];
    return found === undefined;
  });
  await git.run(["--git-dir", dir, ...TREE_DIFF, "--raw", from, to], {
    onOutput: (part) => lines.take(part),
    config: DIFF_CONFIG,
    limits: UNTRUSTED,
    seconds: 120,
  });
  lines.flush();
  return found;
}

async function sizesOf(dir: string, git: Git, objects: readonly string[]): Promise<Map<string, number>> {
  const wanted = objects.filter((object) => !/^0+$/.test(object));
  if (wanted.length === 0) return new Map();
  const check = ["cat-file", "--batch-check=%(objectname) %(objectsize)"];
  const { stdout } = await git.run(["--git-dir", dir, ...check], { stdin: `${wanted.join("\n")}\n` });
  const known = stdout
    .toString("utf8")
    .split("\n")
    .map((line) => line.split(" "));
  return new Map(known.flatMap(([name = "", size]) => (size && /^\d+$/.test(size) ? [[name, Number(size)]] : [])));
}
