import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Config } from "../../protocol/config.ts";
import { requireReadableHome } from "../../store/home/readable-home.ts";
import { parseConfig, SettingsError } from "./config-file.ts";
import { type EnvFile, envIn } from "./env-file.ts";

export { SettingsError } from "./config-file.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Everything that is decided before the program starts to work. Flag > environment > config.json > default. */
export interface Settings {
  home: string;
  /** The real environment, with what `.env` files add to it. */
  env: Environment;
  config: Config;
  /** What is wrong in the `.env` files, in sentences, if anything is; the rest of them is used. */
  envProblems?: readonly string[];
}

/**
 * `packageRoot`: where another `.env` is read besides the one in the home. `onBroken`: for callers that can do without
 * config.json: it is called with the problem, and the config is empty.
 */
export async function loadSettings(
  flags: { home?: string | undefined },
  env: Environment,
  packageRoot?: string,
  onBroken?: (home: string, error: SettingsError) => void,
): Promise<Settings> {
  const { env: beside, problems } = packageRoot === undefined ? NO_FILE : await envFile(join(packageRoot, ".env"));
  const home = resolve(flags.home || env.AGIRAPH_HOME || beside.AGIRAPH_HOME || join(homedir(), ".agiraph"));
  requireReadableHome(home);
  // Whether the home is trusted is not for a file in it to say.
  const file = await envFile(join(home, ".env"));
  const { AGIRAPH_TRUST_HOME_MODES: _, ...inHome } = file.env;
  const envProblems = [...new Set([...problems, ...file.problems])];
  const config = await readConfig(join(home, "config.json")).catch((error: unknown): Config => {
    if (!onBroken || !(error instanceof SettingsError)) throw error;
    onBroken(home, error);
    return {};
  });
  return { home, env: { ...inHome, ...beside, ...env }, config, ...(envProblems.length > 0 && { envProblems }) };
}

/** The person's time zone: the one they set, otherwise that of the process. */
export function zoneOf({ time_zone }: Settings["config"]): string {
  zoneOfProcess ??= Intl.DateTimeFormat().resolvedOptions().timeZone;
  return time_zone ?? zoneOfProcess;
}

/** It is asked for again and again, and finding it out takes a while. */
let zoneOfProcess: string | undefined;

const NO_FILE: EnvFile = { env: {}, problems: [] };

async function envFile(path: string): Promise<EnvFile> {
  const text = await textOf(path);
  return text === undefined ? NO_FILE : envIn(path, text);
}

export async function readConfig(path: string): Promise<Config> {
  const text = await textOf(path);
  return text === undefined ? {} : parseConfig(path, text);
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

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
