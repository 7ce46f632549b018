import { type Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { dict } from "../protocol/dict.ts";
import { DURATION_HELP, secondsIn } from "../protocol/duration.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import { onCrash } from "./home/crash.ts";
import { isDetached } from "./home/detached.ts";
import { type Invocation, programWords, whereAsked } from "./invocation.ts";
import { PLAIN_PASTE, SHOW_CURSOR } from "./live/live-region.ts";
import { Terminal } from "./live/terminal.ts";
import { baseProgram, packageRoot, versionOf } from "./program-base.ts";
import { endWithNpm } from "./start/end-with-npm.ts";
import { reportFailure } from "./wording/failure.ts";

/** Runs one command line to its end and leaves with its exit code, once everything that was written is out. */
export async function runProgram(process: NodeJS.Process, create: typeof createProgram = createProgram): Promise<void> {
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

async function exitCodeOf(words: string[], terminal: Terminal, create: typeof createProgram): Promise<ExitCode> {
  // `agiraph tx …` is `tx …`, for those who have only the one name.
  if (create === createProgram && words[0] === "tx")
    return exitCodeOf(words.slice(1), terminal, (await import("./tx-program.ts")).createTx);
  let code: ExitCode = EXIT.done;
  try {
    const program = create(terminal, (ended) => {
      code = ended;
    });
    // `npm start` alone is the whole thing: API and page. The program's own name alone asks what it can do.
    const isNpmStart = words.length === 0 && create === createProgram && terminal.env.npm_lifecycle_event === "start";
    if (words.length === 0 && !isNpmStart) program.outputHelp();
    else await program.parseAsync(isNpmStart ? ["serve"] : withHelp(words), { from: "user" });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportFailure(error, terminal, words.includes("--json"));
    if (error.exitCode === 0) return EXIT.done;
    const message = error.message.replace(/^error: /, "").trim();
    if (words.includes("--json")) void terminal.printJson({ error: { code: "usage", message } });
    return EXIT.usage;
  }
}

/** The commands and their options. What a command does is loaded only when it is called: start-up is to be quick. */
export function createProgram(terminal: Terminal, end: (code: ExitCode) => void): Command {
  const program = baseProgram(terminal, "agiraph").description("Long-lived AI agents that grow a team around a goal.");
  /** Gives the command its part of the command line, and its exit code back. */
  const does =
    (work: (call: Invocation, ...args: never[]) => Promise<ExitCode>) =>
    async (...given: unknown[]): Promise<void> => {
      const command = given.pop() as Command;
      const { home, json = false } = command.optsWithGlobals<{ home?: string; json?: boolean }>();
      const call = { terminal, home, json, packageRoot, command: command.name() };
      try {
        end(await work(call, ...(given as never[])));
      } catch (error) {
        const isLocked = error instanceof Error && error.name === "HomeLockedError";
        throw isLocked ? await (await import("./home/open-home.ts")).whoIsThere(call, error) : error;
      }
    };

  program
    .command("run")
    .description("create an agent for a goal and show its team at work until it ends")
    .argument("<goal>", "what is to be achieved, in plain words; - reads it from stdin")
    .option("--model <provider/model>", "who thinks (AGIRAPH_MODEL)")
    .option("--worker-model <provider/model>", "who thinks for the workers (AGIRAPH_WORKER_MODEL); the same by default")
    .addOption(new Option("--mode <mode>", "finite ends with its goal, infinite stays").choices(["finite", "infinite"]))
    .option("--every <duration>", "how long an infinite agent sleeps between its cycles: 30s, 10m, 2h, 1d", duration)
    .option(
      "--watch <what>",
      'wake an infinite agent only when this changes: a path or "cmd: a command" (looked at every minute), or a URL (every 5 minutes); --every changes that',
    )
    .option("--name <name>", "what to call it; the first words of the goal by default", agentName)
    .option("--budget <usd>", "stop calling models when so much is spent", positive)
    .option("--tools <names>", "the only tools the team may use: read_file,web_fetch; all by default", list)
    .option("--project <dir>", "the folder that the team may read, instead of the one you stand in")
    .option("--detach", "leave it working in the background")
    .option("--unsafe-no-sandbox", UNSAFE)
    .action(
      does(async (call, goal: string, options: object) => (await import("./commands/run.ts")).run(call, goal, options)),
    );

  program
    .command("serve")
    .description("serve the API and the web page for all agents of this home")
    .option("--port <number>", "where to listen (AGIRAPH_PORT, default 4747); 0 is any free port", port)
    .option("--host <address>", "another address than this machine's own; wants TLS or a proxy in config.json")
    .option("--unsafe-no-sandbox", UNSAFE)
    .action(does(async (call, options: object) => (await import("./commands/serve.ts")).serve(call, options)));

  program
    .command("status")
    .description("this home at a glance: who works in it, how its agents are doing, what waits for you")
    .action(does(async (call) => (await import("./commands/status.ts")).status(call)));

  program
    .command("version")
    .description("print the version")
    .action(
      does(async (call) => {
        const version = versionOf(call.packageRoot);
        await (call.json
          ? terminal.printJson({ version, node: process.versions.node })
          : terminal.printLines([version]));
        return EXIT.done;
      }),
    );

  program
    .command("token")
    .description("print the API's token")
    .option("--link", "a link that logs a browser in, once; the server must be running")
    .option("--new", "make another one; the old one and all logins end. The server must not be running")
    .action(does(async (call, options: object) => (await import("./commands/token.ts")).token(call, options)));

  program
    .command("ls")
    .description("the agents of this home")
    .option("--all", "those that were put away with `rm` too")
    .action(does(async (call, options: object) => (await import("./commands/ls.ts")).ls(call, options)));

  program
    .command("rm")
    .description("stop an agent and put it out of sight; nothing is erased, unless with --purge")
    .argument("<agent>", AGENT)
    .option("--undo", "bring it back")
    .option("--purge", "erase it for good, with all its files; asks first")
    .option("--yes", "with --purge: do not ask")
    .action(
      does(async (call, agent: string, options: object) => (await import("./commands/rm.ts")).rm(call, agent, options)),
    );

  program
    .command("inbox")
    .description("what waits for you over all agents: questions, approvals, failures; and whether messages are unread")
    .option("--unread", "the unread messages too")
    .option("--mark-read", "mark all messages as read, and a mesh's failed tasks as seen")
    .action(does(async (call, options: object) => (await import("./commands/inbox.ts")).inbox(call, options)));

  const looks = [
    ["show", "everything about an agent on one page", async () => (await import("./commands/show.ts")).show],
    ["board", "the work of an agent, node by node", async () => (await import("./commands/board.ts")).board],
    ["workers", "who works for an agent", async () => (await import("./commands/workers.ts")).workers],
    ["stop", "stop an agent; what was said and done is kept", async () => (await import("./commands/stop.ts")).stop],
    ["pause", "let an agent rest until it is resumed", async () => (await import("./commands/stop.ts")).pause],
  ] as const;
  for (const [name, description, load] of looks) {
    program
      .command(name)
      .description(description)
      .argument("<agent>", AGENT)
      .action(does(async (call, agent: string) => (await load())(call, agent)));
  }

  program
    .command("resume")
    .description(
      "go on where an agent was stopped, failed or was interrupted; one that is done keeps its triggers' time",
    )
    .argument("<agent>", AGENT)
    .option("--model <provider/model>", "go on with another model (AGIRAPH_MODEL)")
    .option("--worker-model <provider/model>", "and another one for the workers (AGIRAPH_WORKER_MODEL)")
    .option("--budget <usd>", "from now on this much may be spent in all", positive)
    .option("--budget-tokens <number>", "from now on so many tokens may be used in all", tokens)
    .option("--detach", "leave it working in the background")
    .option("--unsafe-no-sandbox", UNSAFE)
    .action(
      does(async (call, agent: string, options: object) =>
        (await import("./commands/resume.ts")).resume(call, agent, options),
      ),
    );

  const speaks = [
    [
      "send",
      "say something to an agent, or to one of its team",
      async () => (await import("./commands/speak.ts")).send,
    ],
    ["answer", "answer what an agent asks you", async () => (await import("./commands/speak.ts")).answer],
    ["nudge", "give the coordinator a hint while it works", async () => (await import("./commands/speak.ts")).nudge],
  ] as const;
  for (const [name, description, load] of speaks) {
    const command = program
      .command(name)
      .description(description)
      .argument("<agent>", AGENT)
      .argument("<text>", "what to say; - reads it from stdin");
    if (name === "send")
      command.option("--to <name>", "a worker's name, or * for everyone; the coordinator by default");
    if (name === "answer") command.option("--question <id>", "which one, where several are open");
    command
      .option("--detach", "if it goes on, leave it working in the background")
      .action(
        does(async (call, agent: string, text: string, options: object) => (await load())(call, agent, text, options)),
      );
  }

  program
    .command("permissions")
    .description("what you always allow an agent's programs in this run; --revoke takes one back")
    .argument("<agent>", AGENT)
    .option("--revoke <id>", "the id from the list, or its beginning")
    .action(
      does(async (call, agent: string, options: { revoke?: string }) =>
        (await import("./commands/permissions.ts")).permissions(call, agent, options),
      ),
    );

  program
    .command("assign")
    .description("give a node to another worker, or to `human`; its files stay, the worker that has it is stopped")
    .argument("<agent>", AGENT)
    .argument("<node>", "as `board` lists it, e.g. node-3")
    .argument("<worker>", "a worker's name, or human")
    .action(
      does(async (call, agent: string, node: string, worker: string) =>
        (await import("./commands/speak.ts")).assign(call, agent, node, worker),
      ),
    );

  program
    .command("cancel")
    .description("end a node that is no longer needed; its worker is stopped, its files stay")
    .argument("<agent>", AGENT)
    .argument("<node>", "as `board` lists it, e.g. node-3")
    .argument("[reason]", "why, for the team; - reads it from stdin")
    .action(
      does(async (call, agent: string, node: string, reason?: string) =>
        (await import("./commands/speak.ts")).cancel(call, agent, node, reason),
      ),
    );

  program
    .command("publish")
    .description("publish a node that was given to you: what is in its scratch folder")
    .argument("<agent>", AGENT)
    .argument("<node>", "as `inbox` says, e.g. node-3")
    .option("--summary <text>", "what you did, in a few words; - reads it from stdin")
    .option("--detach", "if the agent goes on, leave it working in the background")
    .action(
      does(async (call, agent: string, node: string, options: object) =>
        (await import("./commands/speak.ts")).publish(call, agent, node, options),
      ),
    );

  program
    .command("chat")
    .description("the running conversation with an agent; type to talk")
    .argument("<agent>", AGENT)
    .option("--all", "from the beginning, not only the last 20")
    .action(
      does(async (call, agent: string, options: object) =>
        (await import("./commands/chat.ts")).chat(call, agent, options),
      ),
    );

  program
    .command("logs")
    .description("what happened, one fact a line")
    .argument("<agent>", AGENT)
    .option("-f, --follow", "go on with what happens from now on")
    .option("--after <seq>", "only facts after this number", sequence)
    .option("-n, --limit <number>", "only the newest so many", sequence)
    .option("--worker <name>", "only facts about this worker; coordinator and human are two of them")
    .option("--node <node>", "only facts about this node, e.g. node-3")
    .option("--type <kinds>", "only these kinds, or all of a group: node.failed,tool", list)
    .option("--since <time>", "only facts since then: 30s, 10m, 2h, 1d ago, or a time like 2026-05-01T09:00", since)
    .action(
      does(async (call, agent: string, options: object) =>
        (await import("./commands/logs.ts")).logs(call, agent, options),
      ),
    );

  program
    .command("open")
    .description("open the result of an agent's last run, or print where it is")
    .argument("<agent>", AGENT)
    .action(does(async (call, agent: string) => (await import("./commands/open.ts")).open(call, agent)));

  program
    .command("files")
    .description("the files of an agent's run, or what is in one of them")
    .argument("<agent>", AGENT)
    .argument("[path]", "as `files` lists it")
    .action(
      does(async (call, agent: string, path: string | undefined) =>
        (await import("./commands/files.ts")).files(call, agent, path),
      ),
    );

  program
    .command("memory")
    .description("what an agent remembers, or what it remembers of something")
    .argument("[agent]", AGENT)
    .argument("[query...]", "words to look for; they are matched by their stems, best first")
    .option("--person", "what all your agents share about you (config.json: memory.shared), instead of an agent's")
    .option("--path <file>", "show this file, as `memory` lists it")
    .option("--history <file>", "the earlier versions of this file that are kept")
    .option("--undo <file>", "bring back what this file said before it was last replaced (again: undo that)")
    .option("--limit <n>", "so many sections, at most 100; about three pages of them if left out")
    .action(
      does(async (call, agent: string | undefined, query: string[], options: object) =>
        (await import("./commands/memory.ts")).memory(call, agent, query, options),
      ),
    );

  program
    .command("triggers")
    .description("what an agent is to do later, and when")
    .argument("<agent>", AGENT)
    .option("--all", "also those that ended")
    .option("--add <json>", "a new one: {type, config, action, time_zone?, missed?}")
    .option("--cancel <id>", "it never fires again")
    .option("--pause <id>", "it does not fire until it is resumed")
    .option("--resume <id>", "a paused one goes on from now")
    .action(
      does(async (call, agent: string, options: object) =>
        (await import("./commands/triggers.ts")).triggers(call, agent, options),
      ),
    );

  program
    .command("tx")
    .description("meshes: declared teams whose messages are files; also called tx by itself")
    .argument("[words...]", "`agiraph tx` lists them");

  program
    .command("doctor")
    .description("what is installed and reachable here, and what each missing thing costs")
    .action(does(async (call) => (await import("./commands/doctor.ts")).doctor(call)));

  program
    .command("models")
    .description("known models with context window and price, and which have a key")
    .action(does(async (call) => (await import("./commands/models.ts")).models(call)));

  program
    .command("completion")
    .description("print a completion script for a shell")
    .argument("<shell>", "bash, zsh or fish")
    .action(
      does(async (call, shell: string) => (await import("./commands/completion.ts")).completion(call, shell, program)),
    );

  program.addHelpText("after", VARIABLES);
  program.commands.find((command) => command.name() === "run")?.addHelpText("after", VARIABLES);
  for (const command of program.commands)
    command.showHelpAfterError(`\`${programWords(terminal.env)} ${command.name()} --help\` shows how it is meant.`);
  return program;
}

/** Nobody finds these by trying. */
const VARIABLES = `
Variables, also in a .env file:
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY
      a provider's key; without any the built-in demo surveys files
  ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GEMINI_BASE_URL, OPENROUTER_BASE_URL, OLLAMA_BASE_URL
      another address for it: a gateway, or a local Ollama
  AGIRAPH_MODEL, AGIRAPH_WORKER_MODEL
      provider/model, where --model and --worker-model are not given
  BRAVE_API_KEY, SERPER_API_KEY, TAVILY_API_KEY, SEARXNG_URL
      web search, for models that cannot search themselves
  AGIRAPH_SEARCH_MAX_USES
      how many web searches one turn may make (5; 0 is none)
  AGIRAPH_HOME, AGIRAPH_PORT, NO_COLOR
`;

const UNSAFE = "run commands without a sandbox, with your own rights (every call says so)";
const AGENT = "its name, its id, or the beginning of either";

function positive(text: string): number {
  const value = Number(text.replace(/^\$/, ""));
  if (!(value > 0) || !Number.isFinite(value))
    throw new InvalidArgumentError("It must be an amount above 0, e.g. 2.50.");
  return value;
}

/** By which it can be called afterwards: `agiraph show NAME`. */
function agentName(text: string): string {
  const name = text.trim();
  if (name === "" || name.length > 80 || name.startsWith("-") || /[\p{Cc}\p{Cs}]/u.test(name))
    throw new InvalidArgumentError("It must be one line of up to 80 characters that does not begin with a dash.");
  if (/^agent-[a-z0-9]{4,32}$/.test(name))
    throw new InvalidArgumentError("It looks like an agent's id. Choose a name.");
  return name;
}

function duration(text: string): number {
  const seconds = secondsIn(text);
  if (seconds === undefined) throw new InvalidArgumentError(DURATION_HELP);
  return seconds;
}

function list(text: string): string[] {
  return text
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean);
}

/** In seconds. A time without a zone is one of this machine's. */
function since(text: string): number {
  if (/^\d+[smhd]$/.test(text)) return Date.now() / 1000 - duration(text);
  const at = /^\d{4}-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at))
    throw new InvalidArgumentError("It must be how long ago (10m, 2h) or a time (2026-05-01T09:00).");
  return at / 1000;
}

function port(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError("It must be a port, e.g. 4747.");
  return Number(text);
}

function tokens(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError("It must be a number of tokens, e.g. 2000000.");
  return Number(text);
}

function sequence(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("It must be the number of a fact, e.g. 120.");
  return Number(text);
}

/** `agiraph help run` asks what `agiraph run --help` asks. */
function withHelp(words: string[]): string[] {
  return words[0] === "help" ? [...words.slice(1), "--help"] : words;
}
