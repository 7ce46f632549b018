import type { GitResult } from "./git.ts";
import { objectId } from "./names.ts";

export interface Author {
  name: string;
  email?: string;
}

export interface NewCommit {
  tree: string;
  parents: readonly string[];
  message: string;
  author: Author;
  seconds: number;
}

interface GitCommitOptions {
  env: Record<string, string>;
  stdin: string;
}

/** The same arguments give the same commit, so that what a crash has interrupted can be done again. */
export async function commitTree(
  run: (args: readonly string[], options: GitCommitOptions) => Promise<GitResult>,
  { tree, parents, message, author, seconds }: NewCommit,
): Promise<string> {
  const name = plainName(author.name);
  const email = plainName(author.email ?? "") === "agiraph" ? NO_EMAIL : plainName(author.email ?? "");
  const date = `@${Math.max(0, Math.floor(seconds))} +0000`;
  const env = {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
    GIT_COMMITTER_DATE: date,
  };
  const from = parents.flatMap((parent) => ["-p", objectId(parent)]);
  const { stdout } = await run(["commit-tree", objectId(tree), ...from, "-F", "-"], {
    env,
    stdin: message.replaceAll("\0", ""),
  });
  return stdout.toString("utf8").trim();
}

const NO_EMAIL = "agiraph@localhost";

/** git refuses a name without letters, and a name with these characters would end early. */
function plainName(name: string): string {
  const plain = name
    .replace(/[<>\p{Cc}]/gu, " ")
    .trim()
    .slice(0, 200);
  return /[\p{L}\p{N}]/u.test(plain) ? plain : "agiraph";
}
