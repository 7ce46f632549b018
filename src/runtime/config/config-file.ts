import { didYouMean } from "../../boundary/nearest.ts";
import { PROVIDERS } from "../../models/catalog/providers.ts";
import { type Config, configSchema } from "../../protocol/config.ts";
import { incompletePrograms, KNOWN_PROGRAMS } from "../../workers/outside/programs.ts";
import { configProblemWords, EXAMPLE, fieldWords } from "./config-problems.ts";

/** A person can fix this: the message names the file, the line and what was expected. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

/** Parses a config.json: all of it, or an error that says what is wrong and where. */
export function parseConfig(path: string, text: string): Config {
  const value = jsonIn(path, text);
  const parsed = configSchema.safeParse(value);
  const problems = parsed.success
    ? [...incompleteWords(parsed.data), ...unknownProviders(parsed.data)].map(({ at, words }) => ({
        line: lineOf(text, at),
        words,
      }))
    : parsed.error.issues.map((issue) => {
        const extra = issue.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
        return { line: lineOf(text, [...issue.path, ...extra]), words: configProblemWords(issue, value) };
      });
  if (parsed.success && problems.length === 0) return parsed.data;
  const lines = problems.map(({ line, words }) => `${path}:${line}: ${words}`);
  throw new SettingsError(`${lines.join("\n")}\nFix the file or remove it.`);
}

/** Programs that we know need not be described in full; others must. */
function incompleteWords(config: Config): { at: string[]; words: string }[] {
  const { kind, command } = EXAMPLE.programs?.linter ?? {};
  return incompletePrograms(config).map(({ name, missing }) => ({
    at: ["programs", name],
    words:
      `${fieldWords(["programs", name])}: ${missing.join(" and ")} ${missing.length === 1 ? "is" : "are"} missing. ` +
      `Only the built-in programs (${Object.keys(KNOWN_PROGRAMS).join(", ")}) may be described in part; ` +
      `any other needs its kind and its command, e.g. ${JSON.stringify({ kind, command })}.`,
  }));
}

/** Only a provider that we know by name has an address already. */
function unknownProviders({ providers = {} }: Config): { at: string[]; words: string }[] {
  const known = PROVIDERS.map(({ name }) => name);
  return Object.entries(providers)
    .filter(([name, { base_url }]) => base_url === undefined && !known.includes(name))
    .map(([name]) => ({
      at: ["providers", name],
      words:
        `${fieldWords(["providers", name])}: base_url is missing.${didYouMean(name, known)} ` +
        `Only ${known.join(", ")} need none; any other name is a server and needs its address, e.g. "base_url": "http://127.0.0.1:8000/v1".`,
    }));
}

export function jsonIn(path: string, text: string): unknown {
  const json = text.replace(/^\uFEFF/, "");
  try {
    return JSON.parse(json);
  } catch (error) {
    const at = syntaxErrorAt(json);
    const lines = json.slice(0, at).split("\n");
    const position = `${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`;
    throw new SettingsError(
      `${path}:${position}: this is not valid JSON (${syntaxWords(error)}). Fix it or remove the file.`,
    );
  }
}

/** V8 shows a piece of the text, in which a key may stand: only what it says of JSON itself is kept. */
function syntaxWords(error: unknown): string {
  const [words = ""] = message(error).split(/ in JSON at position| after JSON at|, "|, \.\.\./, 1);
  return words;
}

/** V8 does not always say where: it is the first place up to which the text cannot be the beginning of anything. */
function syntaxErrorAt(text: string): number {
  let good = 0;
  let bad = text.length + 1;
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (middle <= text.length && couldGoOn(text.slice(0, middle))) good = middle;
    else bad = middle;
  }
  return Math.min(good, text.length);
}

function couldGoOn(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const words = message(error);
    const position = /at position (\d+)/.exec(words)?.[1];
    return /end of JSON input/.test(words) || position === String(text.length);
  }
}

/** The line of what the path leads to, looked up key by key. */
function lineOf(text: string, path: readonly PropertyKey[]): number {
  let at = 0;
  for (const key of path) {
    const found = text.indexOf(`"${String(key)}"`, at);
    if (found >= 0) at = found;
  }
  return text.slice(0, at).split("\n").length;
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
