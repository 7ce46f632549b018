import { type Git, GitError } from "./git.ts";
import { UNTRUSTED } from "./limits.ts";

export type Merged = { kind: "clean"; tree: string } | { kind: "conflict"; files: string[]; text: string };

/** What the two sides are called in what is said of a conflict. */
export interface MergeNames {
  ours: string;
  theirs: string;
}
const USUAL_NAMES: MergeNames = { ours: "the branch", theirs: "this work" };

/** Without a working tree, by git's own merge. Its drivers are those that git has built in: nothing else is configured. */
export async function mergeOf(
  dir: string,
  git: Git,
  ours: string,
  theirs: string,
  names: MergeNames = USUAL_NAMES,
): Promise<Merged> {
  const args = ["--git-dir", dir, "merge-tree", "--write-tree", "-z", "--name-only", "--messages", ours, theirs];
  const result = await git.attempt(args, { limits: UNTRUSTED, config: ["merge.conflictStyle=zdiff3"] });
  if (result.code === 0) return { kind: "clean", tree: firstField(result.stdout) };
  if (result.code === 1) {
    const { text, ...conflict } = await conflictIn(dir, git, result.stdout);
    return { ...conflict, text: cut(text.replaceAll(ours, names.ours).replaceAll(theirs, names.theirs)) };
  }
  if (/unrelated histories/.test(result.stderr)) {
    return {
      kind: "conflict",
      files: [],
      text: "The two have no commit in common, so there is nothing to merge them by.",
    };
  }
  throw new GitError(["merge-tree"], result.code, result.stderr);
}

const MOST_TEXT = 8 * 1024;
const MOST_FILES = 1000;
const MOST_READ = 20;
const CONTEXT_LINES = 3;

function firstField(output: Buffer): string {
  return output.subarray(0, output.indexOf(0)).toString("latin1");
}

/** The tree, the files in conflict, an empty field, then for each message: number of paths, paths, kind, text. */
async function conflictIn(dir: string, git: Git, output: Buffer): Promise<Extract<Merged, { kind: "conflict" }>> {
  const [tree = "", ...fields] = output.toString("utf8").split("\0");
  const end = fields.indexOf("");
  const files = [...new Set(fields.slice(0, end))];
  const messages: string[] = [];
  const rest = fields.slice(end + 1);
  for (let at = 0; at < rest.length; ) {
    const count = Number(rest[at]);
    if (!Number.isInteger(count) || rest[at] === "") break;
    const text = rest[at + count + 2] ?? "";
    const kind = rest[at + count + 1] ?? "";
    if (kind !== "Auto-merging") messages.push(text.trim());
    at += count + 3;
  }
  const parts = [messages.join("\n")];
  let length = parts[0]?.length ?? 0;
  for (const file of files.slice(0, MOST_READ)) {
    if (length > MOST_TEXT) break;
    const hunks = await hunksOf(dir, git, tree, file);
    parts.push(...hunks);
    length += hunks.reduce((sum, hunk) => sum + hunk.length, 0);
  }
  return { kind: "conflict", files: files.slice(0, MOST_FILES), text: parts.join("\n\n") };
}

function cut(text: string): string {
  return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}\n…` : text;
}

async function hunksOf(dir: string, git: Git, tree: string, file: string): Promise<string[]> {
  const show = ["--git-dir", dir, "cat-file", "blob", `${tree}:${file}`];
  const found = await git.attempt(show, { maxBytes: 4 * 1024 * 1024, limits: UNTRUSTED }).catch(() => undefined);
  if (found?.code !== 0 || found.stdout.subarray(0, 8000).includes(0)) return [];
  const lines = found.stdout.toString("utf8").split("\n");
  const hunks: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    if (!lines[at]?.startsWith("<<<<<<< ")) continue;
    const end = lines.findIndex((line, index) => index > at && line.startsWith(">>>>>>> "));
    if (end < 0) break;
    const from = Math.max(0, at - CONTEXT_LINES);
    hunks.push([`${file}:${from + 1}`, ...lines.slice(from, end + 1 + CONTEXT_LINES)].join("\n"));
    at = end;
  }
  return hunks;
}
