import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import type { z } from "zod";
import { type Config, configSchema } from "../protocol/config.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Everything that was decided before the program begins to work. Flag > environment > config.json > default. */
export interface Settings {
  home: string;
  /** The real environment, with what `.env` files add to it. */
  env: Environment;
  config: Config;
}

/** A person can mend this: it names the file, the line and what was expected. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

export async function loadSettings(
  flags: { home?: string | undefined },
  env: Environment,
  packageRoot: string,
): Promise<Settings> {
  const beside = await envFile(join(packageRoot, ".env"));
  const home = resolve(flags.home || env.AGIRAPH_HOME || beside.AGIRAPH_HOME || join(homedir(), ".agiraph"));
  const inHome = await envFile(join(home, ".env"));
  const config = await readConfig(join(home, "config.json"));
  return { home, env: { ...inHome, ...beside, ...env }, config };
}

async function envFile(path: string): Promise<Environment> {
  const text = await textOf(path);
  return text === undefined ? {} : parseEnv(text);
}

export async function readConfig(path: string): Promise<Config> {
  const text = await textOf(path);
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new SettingsError(
      `${path}${placeOfSyntaxError(text, error)}: this is not valid JSON (${message(error)}). Mend it or remove the file.`,
    );
  }
  const parsed = configSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    (issue) => `${path}:${lineOf(text, issue)}: ${issue.path.join(".") || "the file"}: ${issue.message}`,
  );
  throw new SettingsError(`${problems.join("\n")}\nMend the file or remove it.`);
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new SettingsError(`${path} cannot be read: ${message(error)}.`);
  }
}

function placeOfSyntaxError(text: string, error: unknown): string {
  const position = /position (\d+)/.exec(message(error))?.[1];
  // Where the text simply ends, V8 names no position.
  const upto = position === undefined ? text : text.slice(0, Number(position));
  const lines = upto.split("\n");
  return `:${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`;
}

/** The line of the key that the issue is about: its path, looked up key by key. */
function lineOf(text: string, issue: z.core.$ZodIssue): number {
  let at = 0;
  const extra = issue.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  for (const key of [...issue.path, ...extra]) {
    const found = text.indexOf(`"${String(key)}"`, at);
    if (found >= 0) at = found;
  }
  return text.slice(0, at).split("\n").length;
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
