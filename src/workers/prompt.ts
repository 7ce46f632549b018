import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

export const PROMPT_NAMES = [
  "soul",
  "operating-rules",
  "worker-rules",
  "single-rules",
  "outside-rules",
  "outside-files",
  "outside-lead",
  "memory-flush",
] as const;
export type PromptName = (typeof PROMPT_NAMES)[number];
/** A prompt's text by name. A file `prompts/NAME.md` in the home overrides the built-in one. */
export type Prompts = (name: PromptName) => Promise<string>;

export function promptsOf(home: string): Prompts {
  return async (name) => (await textOrNone(join(home, "prompts", `${name}.md`))) ?? builtIn(name);
}

const builtIns = new Map<PromptName, Promise<string>>();

/** Part of the program: read once. */
function builtIn(name: PromptName): Promise<string> {
  const text = builtIns.get(name) ?? readFile(join(import.meta.dirname, "prompts", `${name}.md`), "utf8");
  builtIns.set(name, text);
  text.catch(() => builtIns.delete(name));
  return text;
}

async function textOrNone(path: string): Promise<string | undefined> {
  // Hardly any home has one, and a failed read costs more than a look.
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

export interface CoordinatorBrief {
  soul: string;
  goal: string;
  /** The day, and where it works. */
  surroundings: string;
  /** What the project says to agents. */
  project: string;
  memory: string;
  rules: string;
  files: string;
}

/** Seed 002 §1.2, in its order: identity, mission, date and surroundings, memory, rules. Tools describe themselves. */
export function coordinatorPrompt(brief: CoordinatorBrief): string {
  return joined([
    brief.soul,
    `# Your goal\n\n${brief.goal}`,
    brief.surroundings,
    brief.project,
    brief.memory.trim() && `# Your memory\n\n${brief.memory}`,
    brief.rules,
    brief.files,
  ]);
}

export interface WorkerBrief {
  name: string;
  identity: string;
  memory: string;
  notebook: string;
  /** The day, and where it works. */
  surroundings: string;
  /** What the project says to agents. */
  project: string;
  /** What the others do, and what the work is for. */
  team: string;
  rules: string;
  files: string;
}

/** Seed 002 §2.3: who you are and what you know. The piece of work is the first message. */
export function workerPrompt(brief: WorkerBrief): string {
  return joined([
    `You are ${brief.name}. ${brief.identity}`,
    brief.memory.trim() && `# Your memory (from past work)\n\n${brief.memory}`,
    brief.notebook.trim() && `# Your notebook\n\n${brief.notebook}`,
    brief.surroundings,
    brief.project,
    brief.team,
    brief.rules,
    brief.files,
  ]);
}

function joined(sections: readonly (string | false)[]): string {
  return sections
    .filter((section): section is string => section !== false && section.trim() !== "")
    .join("\n\n---\n\n");
}
