import { type Command, CommanderError } from "commander";
import { dict } from "../protocol/dict.ts";
import { baseCommand, packageRoot } from "./base-command.ts";
import { addCommands, type CommandSpec, EXIT_CODES, examplesText } from "./command-line/command-spec.ts";
import { MODEL_VARIABLES } from "./command-line/common-help.ts";
import { installation, MESHES } from "./command-line/installation.ts";
import { LOOKING } from "./command-line/looking.ts";
import { REVIEWING } from "./command-line/reviewing.ts";
import { CHANGING_WORK, STEERING } from "./command-line/steering.ts";
import { TALKING } from "./command-line/talking.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import { onCrash } from "./home/crash.ts";
import { isDetached } from "./home/detached.ts";
import { programWords, whereAsked } from "./invocation.ts";
import { PLAIN_PASTE, SHOW_CURSOR } from "./live/live-region.ts";
import { endWithNpm } from "./start/end-with-npm.ts";
import { Terminal } from "./terminal.ts";
import { reportFailure } from "./wording/failure.ts";
import { usageWords } from "./wording/usage-words.ts";

/** Runs one command line to its end and exits with its code, once all output has been written. */
export async function runCommandLine(
  process: NodeJS.Process,
  create: typeof createAgiraph = createAgiraph,
): Promise<void> {
  // Names of variables come from the config: none must be found that was not set, like `constructor`.
  const env: NodeJS.ProcessEnv = Object.assign(dict<string | undefined>(), process.env);
  const terminal = new Terminal(process, env, whereAsked(env, process.cwd()));
  const words = process.argv.slice(2);
  if (env.npm_lifecycle_event === "start" && !isDetached(env)) endWithNpm(process);
  // A bug of ours: still one sentence for the person, and a terminal that can be used again.
  onCrash(process, (error, file) => {
    if (process.stderr.isTTY) process.stderr.write(SHOW_CURSOR + PLAIN_PASTE);
    const code = reportFailure(error, terminal, words.includes("--json"));
    if (file !== undefined) terminal.say(`The error is recorded in ${file}. What the agents did is kept.`);
    void terminal.drained().then(() => process.exit(code));
  });
  const code = await exitCodeOf(words, terminal, create);
  await terminal.drained();
  // Idle connections and timers of libraries are nobody's work any more.
  process.exit(code);
}

async function exitCodeOf(words: string[], terminal: Terminal, create: typeof createAgiraph): Promise<ExitCode> {
  // `agiraph tx …` is `tx …`, for those who have only the one name; and `agiraph help tx` is `tx --help`.
  const asked = withHelp(words);
  if (create === createAgiraph && asked[0] === "tx")
    return exitCodeOf(asked.slice(1), terminal, (await import("./tx-command.ts")).createTx);
  let code: ExitCode = EXIT.done;
  try {
    const program = create(terminal, (ended) => {
      code = ended;
    });
    // `npm start` alone is the whole thing: API and page. The program's own name alone asks what it can do.
    const isNpmStart = words.length === 0 && create === createAgiraph && terminal.env.npm_lifecycle_event === "start";
    if (words.length === 0 && !isNpmStart) program.outputHelp();
    else await program.parseAsync(isNpmStart ? ["serve"] : answerable(asked, program), { from: "user" });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportFailure(error, terminal, words.includes("--json"));
    if (error.exitCode === 0) return EXIT.done;
    const message = usageWords(error.message);
    if (words.includes("--json")) void terminal.printJson({ error: { code: "usage", message } });
    return EXIT.usage;
  }
}

/** The commands of `agiraph`; `command-line/` describes them. */
export function createAgiraph(terminal: Terminal, end: (code: ExitCode) => void): Command {
  const program = baseCommand(terminal, "agiraph").description("Long-lived AI agents that grow a team around a goal.");
  const calledAs = programWords(terminal.env);
  const groups = [STEERING, TALKING, CHANGING_WORK, REVIEWING, LOOKING, installation(program), MESHES];
  const perform = async (run: CommandSpec["run"], command: Command, given: unknown[]): Promise<void> => {
    const { home, json = false } = command.optsWithGlobals<{ home?: string; json?: boolean }>();
    const call = { terminal, home, json, packageRoot, command: command.name() };
    try {
      end(await run(call, ...(given as never[])));
    } catch (error) {
      const isLocked = error instanceof Error && error.name === "HomeLockedError";
      throw isLocked ? await (await import("./home/open-home.ts")).whoIsThere(call, error) : error;
    }
  };
  addCommands(program, groups, { calledAs, perform });
  program.addHelpText("after", examplesText(calledAs, EXAMPLES) + EXIT_CODES + MODEL_VARIABLES);
  return program;
}

const EXAMPLES = [
  'run "Survey the files in ./docs and write a report" --name survey',
  "inbox",
  'answer survey "PostgreSQL"',
  "chat survey",
  "serve",
];

/** `agiraph help run` asks what `agiraph run --help` asks. */
function withHelp(words: string[]): string[] {
  return words[0] === "help" ? [...words.slice(1), "--help"] : words;
}

/** Help on a command that there is not would be the help on everything: that there is none is said instead. */
function answerable(words: string[], { commands }: Command): string[] {
  const [first = ""] = words;
  const isKnown = commands.some((one) => one.name() === first || one.aliases().includes(first));
  if (isKnown || first === "help" || first.startsWith("-")) return words;
  return words.filter((word) => word !== "--help" && word !== "-h");
}
