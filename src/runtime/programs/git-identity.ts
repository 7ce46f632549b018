import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { ProgramProfile } from "../../protocol/index.ts";
import type { Environment } from "../config/settings.ts";

/**
 * The person's name and address as git has them, as a `.gitconfig` for a program's own home: without it no program
 * could commit. Nothing else of the person's settings is in it: they may name commands and credentials. Null if git
 * knows neither.
 */
export async function gitIdentity(env: Environment): Promise<string | null> {
  const found = await identityOf(env);
  if (found.size === 0) return null;
  return ["[user]", ...[...found].map(([name, value]) => `\t${name} = ${quoted(value)}`), ""].join("\n");
}

/** The same as variables, for a program whose commands find no `.gitconfig`: Gemini CLI takes it from them. */
export async function identityVariables(
  { quirks }: Pick<ProgramProfile, "quirks">,
  env: Environment,
): Promise<Record<string, string>> {
  if (quirks !== "gemini") return {};
  const found = await identityOf(env);
  const named = (["name", "email"] as const).flatMap((what) => {
    const value = found.get(what);
    const roles = ["AUTHOR", "COMMITTER"].map((role) => `GIT_${role}_${what.toUpperCase()}`);
    return value ? roles.map((variable) => [variable, value] as const) : [];
  });
  return Object.fromEntries(named);
}

async function identityOf({ HOME, PATH, XDG_CONFIG_HOME }: Environment): Promise<Map<string, string>> {
  if (!HOME) return new Map();
  const env = { HOME, PATH: PATH ?? "/usr/local/bin:/usr/bin:/bin", ...(XDG_CONFIG_HOME && { XDG_CONFIG_HOME }) };
  const asked = ["config", "--global", "--includes", "--null", "--get-regexp", "^user\\.(name|email)$"];
  const { stdout } = await promisify(execFile)("git", asked, { cwd: "/", env, timeout: MOST_MS }).catch(() => NOTHING);
  return new Map(stdout.split("\0").flatMap((line) => (line.includes("\n") ? [pairIn(line)] : [])));
}

const NOTHING = { stdout: "" };
const MOST_MS = 5000;

/** `user.name`, a line break, the value. */
function pairIn(line: string): [string, string] {
  const at = line.indexOf("\n");
  return [line.slice("user.".length, at), line.slice(at + 1)];
}

function quoted(value: string): string {
  return `"${value.replaceAll(/[\\"]/g, String.raw`\$&`).replaceAll("\n", String.raw`\n`)}"`;
}
