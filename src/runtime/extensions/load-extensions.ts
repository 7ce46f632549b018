import { existsSync, readdirSync } from "node:fs";
import { isAbsolute, join, relative, resolve } from "node:path";
import type { Clock } from "../../protocol/clock.ts";
import { homeProblems, pathProblems } from "../../store/home/home-modes.ts";
import type { Settings } from "../config/settings.ts";
import { AdditionNames } from "./addition-names.ts";
import { closablesOf, closeAll } from "./additions.ts";
import type { ExtensionParts, ExtensionState } from "./extension.ts";
import { importExtension } from "./extension-imports.ts";

export interface LoadedExtensions {
  loaded: readonly ExtensionParts[];
  states: readonly ExtensionState[];
}

/** How long an extension may take to be ready. */
const PATIENCE_MS = 10_000;

/**
 * The extensions of a home: the modules in `extensions/`, in the order of their names, then those that config.json
 * lists.
 *
 * EXTENSION-1. It never fails: an extension that cannot be read, throws, hangs or adds what it may not is reported with
 *     the reason, and everything else works.
 * EXTENSION-2. Code that another user of the machine could have changed is not run.
 * EXTENSION-3. An extension is added whole or not at all.
 */
export async function loadExtensions(
  settings: Settings,
  names: AdditionNames,
  clock: Pick<Clock, "sleep">,
): Promise<LoadedExtensions> {
  const { home, env, config } = settings;
  const files = [...new Set([...filesIn(join(home, "extensions")), ...named(home, config.extensions ?? [])])];
  const loaded: ExtensionParts[] = [];
  const states: ExtensionState[] = [];
  if (files.length === 0) return { loaded, states };
  const unsafe = homeProblems(home, env)[0];
  for (const file of files) {
    const shown = shownPath(file, home);
    try {
      if (unsafe !== undefined) throw new Error(`the home is not safe: ${unsafe}`);
      if (!existsSync(file)) throw new Error(`there is no such file. Fix "extensions" in config.json.`);
      const parts = await readyParts(file, settings, clock);
      const wrong = wrongField(parts);
      const problems = wrong === undefined ? names.take(parts, shown) : [wrong];
      if (problems.length > 0) {
        await closeAll(closablesOf(parts), clock);
        throw new Error(problems.join(" "));
      }
      loaded.push(parts);
      states.push({ file: shown, state: "loaded", ...namesIn(parts) });
    } catch (error) {
      states.push({ file: shown, state: "broken", problem: problemIn(error, home) });
    }
  }
  return { loaded, states };
}

/** The same for a caller that only looks: the returned function closes them again. */
export async function openExtensions(
  settings: Settings,
  clock: Pick<Clock, "sleep">,
): Promise<LoadedExtensions & AsyncDisposable> {
  const found = await loadExtensions(settings, new AdditionNames(settings.config), clock);
  const close = () => closeAll(found.loaded.flatMap(closablesOf), clock);
  return { ...found, [Symbol.asyncDispose]: close };
}

/** One that is ready too late is closed again: it is not used. */
async function readyParts(file: string, settings: Settings, clock: Pick<Clock, "sleep">): Promise<ExtensionParts> {
  const loading = partsOf(file, settings);
  try {
    return await inTime(loading, clock);
  } catch (error) {
    loading.then(
      (late) => closeAll(closablesOf(late), clock),
      () => {},
    );
    throw error;
  }
}

/** What an extension's module adds. */
async function partsOf(file: string, { home, env }: Settings): Promise<ExtensionParts> {
  const module = await importExtension(file, (path) => pathProblems(path, env));
  const exported = module.default;
  const made: unknown = typeof exported === "function" ? await exported({ home, env }) : exported;
  if (!(made instanceof Object)) throw new Error(WANTED);
  return made;
}

function wrongField(parts: ExtensionParts): string | undefined {
  const unknown = Object.keys(parts).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) return `it adds "${unknown}", which nothing uses. ${WANTED}`;
  const isWrong = "close" in parts && typeof parts.close !== "function";
  return isWrong ? `"close" is not a function. ${WANTED}` : undefined;
}

const FIELDS = ["tools", "providers", "channels", "close"];
const WANTED =
  "An extension's default export is an object with tools, providers, channels or close, or a function that returns one (docs/extending.md).";

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /^[^.].*\.m?[jt]s$/.test(name) && !/\.(d|test)\.m?[jt]s$/.test(name))
      .sort()
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}

function named(home: string, paths: readonly string[]): string[] {
  return paths.map((path) => (isAbsolute(path) ? path : resolve(home, path)));
}

/** One that waits for ever for something must not keep a whole home from opening. */
async function inTime<T>(loading: Promise<T>, { sleep }: Pick<Clock, "sleep">): Promise<T> {
  const done = new AbortController();
  const late = sleep(PATIENCE_MS, done.signal).then(
    () => {
      throw new Error(`it was not ready within ${PATIENCE_MS / 1000} s: does it wait for something when it is loaded?`);
    },
    () => new Promise<never>(() => {}),
  );
  try {
    return await Promise.race([loading, late]);
  } finally {
    done.abort();
  }
}

function namesIn({ tools = [], providers = [], channels = [] }: ExtensionParts) {
  return {
    tools: tools.map(({ spec }) => spec.name),
    providers: providers.map(({ name }) => name),
    channels: channels.map(({ name }) => name),
  };
}

function shownPath(file: string, home: string): string {
  const inside = relative(home, file);
  return inside.startsWith("..") || isAbsolute(inside) ? file : inside;
}

function problemIn(error: unknown, home: string): string {
  const words =
    error instanceof Error ? `${placeIn(error, home)}${nameIn(error)}${error.message}` : `it threw ${String(error)}`;
  return words.length > MAX_PROBLEM ? `${words.slice(0, MAX_PROBLEM)}…` : words;
}

const MAX_PROBLEM = 1_000;

/** An error of the language is told by its kind too: `SyntaxError: Unexpected token`. */
function nameIn({ name }: Error): string {
  return name === "Error" ? "" : `${name}: `;
}

/** Where a mistake of TypeScript stands: Node writes the file and the line above the stack, and nowhere else. */
function placeIn({ name, stack = "" }: Error, home: string): string {
  const [, file, line] = (name === "SyntaxError" && /^(?:file:\/\/)?(\/\S.*):(\d+)\n/.exec(stack)) || [];
  return file === undefined ? "" : `${shownPath(file, home)}:${line}: `;
}
