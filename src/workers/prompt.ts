import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

export const PROMPT_NAMES = [
  "soul",
  "operating-rules",
  "worker-rules",
  "outside-rules",
  "outside-files",
  "outside-lead",
  "memory-flush",
] as const;
export type PromptName = (typeof PROMPT_NAMES)[number];
/** A prompt's text by name. A file `prompts/NAME.md` in the home stands before the built-in one. */
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
  // Nearly nobody has one, and to be told so by a failed read costs each worker more than a look.
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
  today: string;
  memory: string;
  rules: string;
  files: string;
}

/** Seed 002 §1.2, in its order: identity, mission, date, memory, rules. Tools describe themselves. */
export function coordinatorPrompt(brief: CoordinatorBrief): string {
  return joined([
    brief.soul,
    `# Your goal\n\n${brief.goal}`,
    `Today is ${brief.today}.`,
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
  today: string;
  spec: string;
  refs: string;
  rules: string;
  files: string;
}

/** Seed 002 §2.3: who you are and what you know, then the piece of work. */
export function workerPrompt(brief: WorkerBrief): string {
  return joined([
    `You are ${brief.name}. ${brief.identity}`,
    brief.memory.trim() && `# Your memory (from past work)\n\n${brief.memory}`,
    brief.notebook.trim() && `# Your notebook\n\n${brief.notebook}`,
    `Today is ${brief.today}.`,
    `# Current assignment\n\n${brief.spec}`,
    brief.refs && `# Input data (from other nodes)\n\n${brief.refs}`,
    brief.rules,
    brief.files,
  ]);
}

function joined(sections: readonly (string | false)[]): string {
  return sections
    .filter((section): section is string => section !== false && section.trim() !== "")
    .join("\n\n---\n\n");
}
