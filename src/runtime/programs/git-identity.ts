import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Environment } from "../config/settings.ts";

/**
 * The person's name and address as git has them, as a `.gitconfig` for a program's own home: without it no program
 * could commit. Nothing else of the person's settings is in it: they may name commands and credentials. Null if git
 * knows neither.
 */
export async function gitIdentity({ HOME, PATH, XDG_CONFIG_HOME }: Environment): Promise<string | null> {
  if (!HOME) return null;
  const env = { HOME, PATH: PATH ?? "/usr/local/bin:/usr/bin:/bin", ...(XDG_CONFIG_HOME && { XDG_CONFIG_HOME }) };
  const asked = ["config", "--global", "--includes", "--null", "--get-regexp", "^user\\.(name|email)$"];
  const { stdout } = await promisify(execFile)("git", asked, { cwd: "/", env, timeout: MOST_MS }).catch(() => NOTHING);
  const found = new Map(stdout.split("\0").flatMap((line) => (line.includes("\n") ? [pairIn(line)] : [])));
  if (found.size === 0) return null;
  return ["[user]", ...[...found].map(([name, value]) => `\t${name} = ${quoted(value)}`), ""].join("\n");
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
