import type { Command } from "commander";
import { versionOf } from "../base-command.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import type { CommandGroup, CommandSpec } from "./command-spec.ts";
import { UNSAFE } from "./common-help.ts";
import { port } from "./option-values.ts";

export const installation = (program: Command): CommandGroup => ({
  title: "Server and installation",
  commands: [...SERVER, ...INSTALLED, completionOf(program, "print a completion script for a shell")],
});

const SERVER: readonly CommandSpec[] = [
  {
    name: "serve",
    description: "serve the API and the web page for all agents of this home",
    options: [
      ["--port <number>", "the port to listen on (AGIRAPH_PORT, default 4747); 0 is any free port", port],
      ["--host <address>", "the address to listen on, if not this machine only; needs TLS or a proxy in config.json"],
      ["--engine <url>", "work from a PostgreSQL, with other hosts: postgres://USER@HOST/DATABASE (AGIRAPH_ENGINE)"],
      ["--schema <name>", "with --engine: its schema in that database, if not agiraph"],
      ["--host-name <name>", "with --engine: what this host is called, if not by the name of the machine"],
      UNSAFE,
    ],
    examples: ["serve", "serve --port 8080", "serve --engine postgres://agiraph@db.example.org/agiraph"],
    run: async (call, options: object) => (await import("../commands/serve.ts")).serve(call, options),
  },
  {
    name: "token",
    description: "print the API token",
    options: [
      ["--link", "print a link that logs a browser in, once; the server must be running"],
      ["--new", "make a new token; the old one and all logins end. The server must not be running"],
    ],
    examples: ["token --link"],
    run: async (call, options: object) => (await import("../commands/token.ts")).token(call, options),
  },
];

/** What is installed here, and what can be reached from here. */
const INSTALLED: readonly CommandSpec[] = [
  {
    name: "doctor",
    description: "check what is installed and reachable, and what cannot be used without the rest",
    examples: ["doctor"],
    run: async (call) => (await import("../commands/doctor.ts")).doctor(call),
  },
  {
    name: "models",
    description: "known models with context window and price, and which of them have a key",
    examples: ["models"],
    run: async (call) => (await import("../commands/models.ts")).models(call),
  },
  {
    name: "programs",
    description: "outside programs (Claude Code, Codex, …): whether they are signed in, and sign in",
    args: [
      ["<action>", "status or login"],
      ["[program]", "one of them, e.g. claude-code"],
    ],
    examples: ["programs status", "programs login claude-code"],
    run: async (call, action: string, program?: string) =>
      (await import("../commands/programs.ts")).programs(call, action, program),
  },
  {
    name: "engine",
    description: "a PostgreSQL that holds agents: check it, import this home into it, export it to a new home",
    args: [
      ["<action>", "check, import or export"],
      ["[folder]", "import: another home than this one; export: the new folder"],
    ],
    options: [
      ["--engine <url>", "postgres://USER@HOST/DATABASE (AGIRAPH_ENGINE)"],
      ["--schema <name>", "its schema in that database, if not agiraph"],
    ],
    examples: [
      "engine check --engine postgres://agiraph@db.example.org/agiraph",
      "engine import",
      "engine export ./copy",
    ],
    run: async (call, action: string, folder: string | undefined, options: object) =>
      (await import("../commands/engine.ts")).engine(call, action, folder, options),
  },
  {
    name: "hosts",
    description: "the machines that work from the same engine; drain one, so that others take over its agents",
    args: [
      ["[action]", "drain"],
      ["[host]", "drain: the name of the host"],
    ],
    options: [
      ["--undo", "drain: it takes agents again"],
      ["--engine <url>", "postgres://USER@HOST/DATABASE (AGIRAPH_ENGINE)"],
      ["--schema <name>", "its schema in that database, if not agiraph"],
    ],
    examples: ["hosts", "hosts drain machine-2", "hosts drain machine-2 --undo"],
    run: async (call, action: string | undefined, host: string | undefined, options: object) =>
      (await import("../commands/hosts.ts")).hosts(call, action, host, options),
  },
  {
    name: "version",
    description: "print the version",
    examples: ["version --json"],
    run: async ({ json, packageRoot, terminal }) => {
      const version = versionOf(packageRoot);
      await (json ? terminal.printJson({ version, node: process.versions.node }) : terminal.printLines([version]));
      return EXIT.done;
    },
  },
];

/** The completion script is generated from the commands, so it needs the program. */
export function completionOf(program: Command, description: string): CommandSpec {
  return {
    name: "completion",
    description,
    args: [["<shell>", "bash, zsh or fish"]],
    examples: [`completion bash > ~/.local/share/bash-completion/completions/${program.name()}`],
    run: async (call, shell: string) => (await import("../commands/completion.ts")).completion(call, shell, program),
  };
}

/** `agiraph tx …` is handed to the other program before the command line is parsed, so this entry only describes it. */
export const MESHES: CommandGroup = {
  title: "Meshes",
  commands: [
    {
      name: "tx",
      description: "declared teams of a project whose messages are files; `tx --help` lists its commands",
      args: [["[words...]", "a command of tx, with its arguments"]],
      examples: ["tx status"],
      run: async (call: Invocation) => {
        throw new UsageError(
          `The first word after tx is its command, and options follow it. For example: ${commandLine(call, "tx", "status")}`,
        );
      },
    },
  ],
};
