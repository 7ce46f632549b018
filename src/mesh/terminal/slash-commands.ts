/**
 * A command that a person or a model types in the program itself (seed 004, "Important Commands"), for programs that
 * support this.
 */
export interface SlashCommand {
  name: string;
  about: string;
  hint: string;
  /** `ARGUMENTS` stands for what is typed behind it. */
  words: string;
}

export const SLASH_COMMANDS: readonly SlashCommand[] = [
  {
    name: "tx-done",
    about: "Mark the current task complete",
    hint: "[what you did]",
    words:
      'Your task is done. Run this in the shell, once: tx done "what you did"\nSay there what you did and where it is, in a few sentences; others build on it. In your human\'s words, where there are any: ARGUMENTS',
  },
  {
    name: "tx-next",
    about: "Show the task to work on",
    hint: "",
    words: "Run this in the shell: tx next\nIt shows the task that is yours now. Work on it.",
  },
  {
    name: "ask",
    about: "Ask another agent, or human",
    hint: 'agent-name "question"',
    words:
      'Ask another agent of this mesh, or `human`. Run this in the shell: tx ask AGENT "QUESTION"\nWhom and what: ARGUMENTS\nThe answer will be typed to you here; go on with something else meanwhile, or end your turn.',
  },
  {
    name: "search",
    about: "Search the web",
    hint: "query",
    words:
      'Search the web for: ARGUMENTS\nUse your own web search. If you have none and $SEARXNG_URL is set, run: curl -s -G "$SEARXNG_URL/search" --data-urlencode "q=QUERY" -d format=json\nGive the sources of what you found.',
  },
];

/**
 * As a markdown file with a header, for Claude Code and opencode. Codex reads the same file and does not show the
 * header.
 */
export function asMarkdown({ about, hint, words }: SlashCommand, extra: Readonly<Record<string, string>> = {}): string {
  const fields = { description: about, ...(hint && { "argument-hint": hint }), ...extra };
  const header = Object.entries(fields).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return `---\n${header.join("\n")}\n---\n\n${words.replace("ARGUMENTS", "$ARGUMENTS")}\n`;
}

/** In Gemini's format. */
export function asToml({ about, words }: SlashCommand): string {
  const text = words.replace("ARGUMENTS", "{{args}}");
  return `description = ${JSON.stringify(about)}\nprompt = ${JSON.stringify(text)}\n`;
}
