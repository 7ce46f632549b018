import type { Command } from "commander";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import type { Invocation } from "../invocation.ts";

/** A script for the shell, made from the commands there are, so that it never names one that is not. */
export async function completion({ terminal }: Invocation, shell: string, program: Command): Promise<ExitCode> {
  const write = SHELLS[shell];
  if (!write)
    throw new UsageError(`There is no completion for "${shell}". There is: ${Object.keys(SHELLS).join(", ")}.`);
  await terminal.print(write(wordsOf(program)));
  return EXIT.done;
}

interface CommandWords {
  name: string;
  description: string;
  flags: string[];
}

function wordsOf(program: Command): CommandWords[] {
  const longs = (command: Command) =>
    command.options.filter((option) => !option.hidden).flatMap((option) => option.long ?? []);
  const everywhere = [...longs(program).filter((flag) => flag !== "--version"), "--help"];
  return program.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
    flags: [...longs(command), ...everywhere],
  }));
}

const SHELLS: Record<string, (commands: CommandWords[]) => string> = {
  bash: (commands) => `# agiraph completion for bash: eval "$(agiraph completion bash)"
_agiraph() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map(({ name }) => name).join(" ")} --help --version"
  else
    case "\${COMP_WORDS[1]}" in
${commands.map(({ name, flags }) => `      ${name}) words="${flags.join(" ")}" ;;`).join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _agiraph agiraph
`,
  zsh: (commands) => `#compdef agiraph
# agiraph completion for zsh: eval "$(agiraph completion zsh)"
_agiraph() {
  local -a commands=(
${commands.map(({ name, description }) => `    '${name}:${description.replaceAll("'", "’").replaceAll(":", " ")}'`).join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "$words[2]" in
${commands.map(({ name, flags }) => `    ${name}) compadd -- ${flags.join(" ")} ;;`).join("\n")}
  esac
  _files
}
compdef _agiraph agiraph
`,
  fish: (commands) => `# agiraph completion for fish: agiraph completion fish | source
${commands
  .flatMap(({ name, description, flags }) => [
    `complete -c agiraph -n __fish_use_subcommand -f -a ${name} -d '${description.replaceAll("'", "’")}'`,
    ...flags.map((flag) => `complete -c agiraph -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}`),
  ])
  .join("\n")}
`,
};
