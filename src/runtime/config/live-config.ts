import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Config } from "../../protocol/config.ts";
import { codeOf } from "../../store/disk/disk.ts";
import { parseConfig } from "./config-file.ts";
import type { Settings } from "./settings.ts";
import { systemClock } from "./system-clock.ts";

/** How config.json differs from the settings that this process uses. */
export interface ConfigState {
  /** Why the file cannot be used; the last good one stays in use. */
  problem: string | null;
  /** What was changed in it since the start and takes effect only after a restart. */
  after_restart: readonly string[];
}

export interface LiveSettings extends Settings {
  readonly state: ConfigState;
  /** Called whenever the state changes or another config is in use. Returns the unsubscribe. */
  onChange(listener: (state: ConfigState) => void): () => void;
}

/** What is opened once, with the process: where it listens, by which channels it speaks, what extends it, how it confines. */
const FIXED = ["server", "engine", "channels", "extensions", "sandbox"] as const satisfies readonly (keyof Config)[];

/**
 * Settings whose `config` follows config.json.
 *
 * LIVE-CONFIG-1. The file is checked whenever a setting is needed: nothing polls, and nothing is out of date.
 * LIVE-CONFIG-2. All or nothing: an invalid file changes nothing, and `state` says why until it is fixed.
 * LIVE-CONFIG-3. What cannot change while the process runs (FIXED) stays as it was given; `state` names what waits for
 *     a restart.
 */
export function liveSettings(given: Settings, check: (config: Config) => void = () => {}): LiveSettings {
  const path = join(given.home, "config.json");
  const fixed = Object.fromEntries(
    FIXED.flatMap((field) => (given.config[field] ? [[field, given.config[field]]] : [])),
  );
  const listeners = new Set<(state: ConfigState) => void>();
  let { config } = given;
  let state: ConfigState = { problem: null, after_restart: [] };
  let seen: { stamp: string; found: ConfigText } | undefined;
  /** What the file said at the start: a flag may say otherwise, and no file has changed by that. */
  let atStart: Config | undefined;

  const take = ({ text, why }: ConfigText) => {
    const before = { config, state };
    try {
      if (why !== undefined) throw new Error(`${path} cannot be read (${why}).`);
      const read = text === undefined ? {} : parseConfig(path, text);
      atStart ??= read;
      const next: Config = { ...without(read, FIXED), ...fixed };
      check(next);
      if (!isDeepStrictEqual(next, config)) config = next;
      const changed = FIXED.filter((field) => !isDeepStrictEqual(read[field], atStart?.[field]));
      state = { problem: null, after_restart: changed };
    } catch (error) {
      state = { ...state, problem: error instanceof Error ? error.message : String(error) };
    }
    if (config === before.config && isDeepStrictEqual(state, before.state)) return;
    for (const listener of listeners) listener(state);
  };
  const look = () => {
    const { stamp, isYoung } = stampOf(path);
    if (seen?.stamp === stamp && !isYoung) return;
    const found = fileAt(path);
    const isKnown = seen !== undefined && isDeepStrictEqual(seen.found, found);
    seen = { stamp, found };
    if (!isKnown) take(found);
  };
  look();

  return {
    home: given.home,
    env: given.env,
    get config() {
      look();
      return config;
    },
    get state() {
      look();
      return state;
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Settings that are not read again stay as they were given. */
export function configStateOf(settings: Settings | LiveSettings): ConfigState {
  return "state" in settings ? settings.state : { problem: null, after_restart: [] };
}

/** Something may be missing because the file that defines it is invalid: both are reported together. */
export function withConfigProblem(settings: Settings, message: string): string {
  const { problem } = configStateOf(settings);
  return problem === null
    ? message
    : `${message}\nThe config.json in use is an older one: the file as it is now cannot be used.\n${problem}`;
}

/** A file system tells times in steps: within them, a second writing cannot be told from the first. */
const STEP_MS = 2000;

/** Another one whenever the file was written or replaced, unless it is young. */
function stampOf(path: string): { stamp: string; isYoung: boolean } {
  try {
    const { ino, size, mtimeNs, ctimeNs, ctimeMs } = statSync(path, { bigint: true });
    const isYoung = Math.abs(systemClock.now() - Number(ctimeMs)) < STEP_MS;
    return { stamp: [ino, size, mtimeNs, ctimeNs].join(" "), isYoung };
  } catch (error) {
    return { stamp: String(codeOf(error)), isYoung: false };
  }
}

/** Its text, or none where there is no file; or why nobody knows. */
interface ConfigText {
  text?: string;
  why?: string;
}

function fileAt(path: string): ConfigText {
  try {
    return { text: readFileSync(path, "utf8") };
  } catch (error) {
    const code = codeOf(error) ?? String(error);
    return code === "ENOENT" || code === "ENOTDIR" ? {} : { why: code };
  }
}

function without(config: Config, fields: readonly (keyof Config)[]): Config {
  return Object.fromEntries(Object.entries(config).filter(([field]) => !fields.some((one) => one === field)));
}
