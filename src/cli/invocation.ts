import type { Environment, Terminal } from "./terminal.ts";

/** One call of the program: where, on which home, and how it wants its answer. */
export interface Invocation {
  terminal: Terminal;
  /** From --home. */
  home: string | undefined;
  json: boolean;
  /** Where the program's own files are. */
  packageRoot: string;
}

/** Where the person stood: npm runs its scripts in the package's folder and says where it was called. */
export function whereAsked(env: Environment, cwd: string): string {
  return env.npm_lifecycle_event && env.INIT_CWD ? env.INIT_CWD : cwd;
}

/** The words that call the same program on the same home again, for people to copy. */
export function commandLine({ terminal, home }: Invocation, ...words: string[]): string {
  const program = terminal.env.npm_lifecycle_event === "start" ? "npm start --" : "agiraph";
  const at = home === undefined ? [] : ["--home", home];
  return [program, ...[...words, ...at].map(quoted)].join(" ");
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
