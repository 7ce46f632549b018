import type { Command } from "commander";
import { didYouMean } from "../../boundary/nearest.ts";
import { own } from "../../protocol/dict.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import type { Invocation } from "../invocation.ts";

/** A completion script for the shell, generated from the commands, so that it is never out of date. */
export async function completion({ terminal, json }: Invocation, shell: string, program: Command): Promise<ExitCode> {
  // A program that has names of its own to offer says them when it is asked.
  const asks = program.commands.some((command) => command.name() === NAMES_COMMAND);
  const write = own(SHELLS, shell);
  if (!write)
    throw new UsageError(
      `There is no completion for "${shell}".${didYouMean(shell, SHELL_NAMES)} Choose from: ${SHELL_NAMES.join(", ")}.`,
    );
  const script = write(program.name(), wordsOf(program), asks);
  await (json ? terminal.printJson({ shell, script }) : terminal.print(script));
  return EXIT.done;
}

/** `tx names -- attach review`: what may come next, one word per line. */
export const NAMES_COMMAND = "names";

interface CommandWords {
  name: string;
  description: string;
  flags: string[];
}

function wordsOf(program: Command): CommandWords[] {
  const longs = (command: Command) =>
    command.options.filter((option) => !option.hidden).flatMap((option) => option.long ?? []);
  const everywhere = [...longs(program).filter((flag) => flag !== "--version"), "--help"];
  const offered = program.commands.filter((command) => command.name() !== NAMES_COMMAND);
  return offered.map((command) => ({
    name: command.name(),
    description: command.description(),
    flags: [...longs(command), ...everywhere],
  }));
}

type CompletionScript = (program: string, commands: CommandWords[], asks: boolean) => string;

const SHELLS: Record<string, CompletionScript> = {
  bash: (program, commands, asks) => `# ${program} completion for bash: eval "$(${program} completion bash)"
_${program}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map(({ name }) => name).join(" ")} --help --version"
  else
    case "\${COMP_WORDS[1]}" in
${commands.map(({ name, flags }) => `      ${name}) words="${flags.join(" ")}" ;;`).join("\n")}
    esac${asks ? `\n    words="$words $(${program} ${NAMES_COMMAND} -- "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)"` : ""}
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _${program} ${program}
`,
  zsh: (program, commands, asks) => `#compdef ${program}
# ${program} completion for zsh: eval "$(${program} completion zsh)"
_${program}() {
  local -a commands=(
${commands.map(({ name, description }) => `    '${name}:${description.replaceAll("'", "’").replaceAll(":", " ")}'`).join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "$words[2]" in
${commands.map(({ name, flags }) => `    ${name}) compadd -- ${flags.join(" ")} ;;`).join("\n")}
  esac${asks ? `\n  compadd -- \${(f)"$(${program} ${NAMES_COMMAND} -- \${words[2,CURRENT-1]} 2>/dev/null)"}` : ""}
  _files
}
compdef _${program} ${program}
`,
  fish: (program, commands, asks) => `# ${program} completion for fish: ${program} completion fish | source
${commands
  .flatMap(({ name, description, flags }) => [
    `complete -c ${program} -n __fish_use_subcommand -f -a ${name} -d '${description.replaceAll("'", "’")}'`,
    ...flags.map((flag) => `complete -c ${program} -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}`),
  ])
  .join("\n")}
${asks ? `complete -c ${program} -n 'not __fish_use_subcommand' -a '(${program} ${NAMES_COMMAND} -- (commandline -opc)[2..-1] 2>/dev/null)'\n` : ""}`,
};

const SHELL_NAMES = Object.keys(SHELLS);
