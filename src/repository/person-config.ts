import { join } from "node:path";
import type { Git } from "./git.ts";

/** Names in lower case, each with all its values in the order of the files. */
export type ConfigValues = ReadonlyMap<string, readonly string[]>;

/** Reading config runs nothing; files that it includes are read too, as git would. */
export async function repositoryConfig(gitDir: string, git: Git): Promise<ConfigValues> {
  const { stdout } = await git.run(["--git-dir", gitDir, "config", "--list", "-z"], {
    seconds: 30,
    maxBytes: 4 * 1024 * 1024,
  });
  return parsed(stdout);
}

/** The person's own, as on any machine where they use git. It is trusted, but only its values are used. */
export async function ownConfig(git: Git): Promise<ConfigValues> {
  const all: Buffer[] = [];
  for (const scope of ["--system", "--global"]) {
    // Without such a file git fails, which says the same as an empty one.
    const options = { env: { ...git.personEnvironment }, seconds: 30, maxBytes: 4 * 1024 * 1024 };
    const result = await git.program(["git", "config", scope, "--includes", "--list", "-z"], options);
    if (result.code === 0) all.push(result.stdout);
  }
  return parsed(Buffer.concat(all));
}

/** Where git looks for files to ignore that the person keeps for all repositories. */
export function ownExcludesFile(config: ConfigValues, env: Record<string, string>): string {
  const set = config.get("core.excludesfile")?.at(-1);
  const home = env.HOME ?? "/nonexistent";
  if (set !== undefined) return set.replace(/^~(?=\/)/, home);
  return join(env.XDG_CONFIG_HOME || join(home, ".config"), "git/ignore");
}

export function lastValue(config: ConfigValues, name: string): string | undefined {
  return config.get(name.toLowerCase())?.at(-1);
}

function parsed(output: Buffer): ConfigValues {
  const values = new Map<string, string[]>();
  for (const entry of output.toString("utf8").split("\0")) {
    if (entry === "") continue;
    const end = entry.indexOf("\n");
    // A name without "=" means true.
    const [name, value] = end < 0 ? [entry, "true"] : [entry.slice(0, end), entry.slice(end + 1)];
    const known = values.get(name.toLowerCase());
    if (known) known.push(value);
    else values.set(name.toLowerCase(), [value]);
  }
  return values;
}
