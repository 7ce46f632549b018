import { type Command, Option } from "commander";
import { shellWord } from "../../boundary/shell-word.ts";
import type { ExitCode } from "../exit-code.ts";
import type { Invocation } from "../invocation.ts";
import { oneOf } from "./option-values.ts";

/**
 * A command as data: its name, its arguments and options, and its implementation.
 *
 * COMMAND-LINE-1. Every command is in a group of the help, and every command that is shown has an example.
 * COMMAND-LINE-2. The code of a command is loaded only when it is called, so that the program starts quickly.
 */
export interface CommandSpec<Call = Invocation> {
  name: string;
  description: string;
  /** Its arguments, as commander writes them: `<agent>`, `[reason]`, `[words...]`; and what they are. */
  args?: readonly (readonly [name: string, description?: string])[];
  /** What its last argument is, if that is text, which people may forget to put in quotes: `goal`. */
  lastIsText?: string;
  options?: readonly OptionSpec[];
  /** What to type after the name of the program. */
  examples?: readonly string[];
  /** More text below its help. */
  notes?: string;
  isHidden?: true;
  run: (call: Call, ...given: never[]) => Promise<ExitCode>;
}

/** The last element says how the value is read: a function, or the list of allowed words. */
export type OptionSpec = readonly [
  flags: string,
  description: string,
  value?: ((text: string) => unknown) | readonly string[],
];

export interface CommandGroup<Call = Invocation> {
  title: string;
  commands: readonly CommandSpec<Call>[];
}

interface Setting<Call> {
  /** How people call this program: `agiraph`, or `npm start --`. */
  calledAs: string;
  /** Carries a command out, given what commander has read. */
  perform: (run: CommandSpec<Call>["run"], command: Command, given: unknown[]) => Promise<void>;
}

/** Adds the commands to a program, group by group. */
export function addCommands<Call>(
  program: Command,
  groups: readonly CommandGroup<Call>[],
  setting: Setting<Call>,
): void {
  for (const { title, commands } of groups) {
    program.commandsGroup(`${title}:`);
    for (const spec of commands) addCommand(program, spec, setting);
  }
}

function addCommand<Call>(program: Command, spec: CommandSpec<Call>, { calledAs, perform }: Setting<Call>): void {
  const command = program.command(spec.name, { hidden: spec.isHidden === true }).description(spec.description);
  for (const [name, description] of spec.args ?? []) command.argument(name, description);
  for (const option of spec.options ?? []) command.addOption(optionOf(option));
  command.showHelpAfterError(seeHelp(`${calledAs} ${spec.name}`));
  if (spec.examples) command.addHelpText("after", examplesText(calledAs, spec.examples));
  if (spec.notes) command.addHelpText("after", spec.notes);
  if (spec.lastIsText) command.allowExcessArguments();
  command.action(async (...given: unknown[]) => {
    given.pop();
    if (spec.lastIsText) refuseLooseWords(command, spec.lastIsText, calledAs);
    await perform(spec.run, command, given);
  });
}

/** Several words where one text was expected. */
function refuseLooseWords(command: Command, what: string, calledAs: string): void {
  const { args, registeredArguments } = command;
  if (args.length <= registeredArguments.length) return;
  const before = args.slice(0, registeredArguments.length - 1).map(shellWord);
  const text = args.slice(registeredArguments.length - 1).join(" ");
  const line = [calledAs, command.name(), ...before, inQuotes(text)].join(" ");
  const hasOptions = Object.keys(command.optsWithGlobals()).length > 0;
  command.error(`error: Put the ${what} in quotes: ${line}${hasOptions ? " …" : ""}`);
}

/** In double quotes, unless the shell would change something in them. */
function inQuotes(text: string): string {
  return /["$`\\!]/.test(text) ? shellWord(text) : `"${text}"`;
}

function optionOf([flags, description, value]: OptionSpec): Option {
  const option = new Option(flags, description);
  if (typeof value === "function") return option.argParser(value);
  // The choices are shown in the help; the parser comes after them, to name the nearest.
  return value === undefined ? option : option.choices([...value]).argParser(oneOf(value));
}

export function seeHelp(program: string): string {
  return `See: ${program} --help`;
}

export function examplesText(calledAs: string, examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((words) => `  ${calledAs} ${words}\n`).join("")}`;
}

/** The exit codes that scripts can rely on. */
export const EXIT_CODES = `
Exit codes:
  0    done
  1    failed
  2    wrong usage
  3    waiting for you, and nobody is at the terminal to answer
  130  interrupted (Ctrl-C)
`;
