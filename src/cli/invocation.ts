import { shellWord } from "../boundary/shell-word.ts";
import type { Actor } from "../protocol/index.ts";
import type { Environment } from "../runtime/config/settings.ts";
import type { Terminal } from "./terminal.ts";

/** One call of the program: where, on which home, and how it should answer. */
export interface Invocation {
  terminal: Terminal;
  /** From --home. */
  home: string | undefined;
  json: boolean;
  /** Where the program's own files are. */
  packageRoot: string;
  /** Its name: `run`. */
  command?: string;
}

/** The current directory of the person: npm runs its scripts in the package's folder and says where it was called. */
export function whereAsked(env: Environment, cwd: string): string {
  return env.npm_lifecycle_event && env.INIT_CWD ? env.INIT_CWD : cwd;
}

/** How this program was called: by its name, or by npm in its own folder, where the name may not be installed. */
export function programWords(env: Environment): string {
  return env.npm_lifecycle_event === "start" ? "npm start --" : "agiraph";
}

/** A command line that calls the same program on the same home again, for people to copy. */
export function commandLine({ terminal, home }: Invocation, ...words: string[]): string {
  const at = home === undefined ? [] : ["--home", home];
  return [programWords(terminal.env), ...[...words, ...at].map(shellWord)].join(" ");
}

/** Rewrites texts of other rooms, which do not know how the program was called and say `agiraph run`. */
export function asCalled(text: string, env: Environment): string {
  return text.replaceAll(NAMED, `${programWords(env)} `);
}

/** The program is called in lower case only where a command follows; in prose it is Agiraph. */
const NAMED = /(?<![\w/.-])agiraph (?=[a-z])/g;

/** The actor of commands typed at a terminal. */
export const AT_TERMINAL: Actor = { kind: "human", via: "terminal" };
