import type { ToolSpec } from "../models/model.ts";
import type { NodeState } from "../projections/index.ts";
import type { Entry, UserEntry } from "../protocol/index.ts";
import { specFile, specText, type WorkFolder } from "../store/run/node-folder.ts";
import type { Scope } from "../store/scope/scope.ts";
import { FileNotFound, ScopeRefusal } from "../store/scope/scope-refusal.ts";
import { type InputOptions, inputWords, SMALL_INPUTS } from "./inputs.ts";
import type { NodeWork } from "./node-work.ts";
import { projectInstructions } from "./project-instructions.ts";
import { type PromptName, workerPrompt } from "./prompt.ts";
import { rulesWith } from "./prompt-rules.ts";
import { answerFileName } from "./publishing.ts";
import { projectFolder, surroundingsOf } from "./surroundings.ts";
import { goalWords, teamWords } from "./team-context.ts";
import type { Workplace } from "./workplace.ts";

/** What differs between a model in our loop, a model that answers once, and a program. */
export interface AssignmentFormat {
  rules: PromptName;
  /** What it may read and write, and how the paths are written. */
  files: string;
  inputs: InputOptions;
  /** A model without tools ("nobody") is told neither where it works nor who else does: it could do nothing with it. */
  audience: "loop" | "program" | "nobody";
  /** Its tools, as far as the rules depend on them. */
  offered?: readonly ToolSpec[];
}

/** A worker in our loop, with these tools. */
export function withTools(scope: Scope, offered: readonly ToolSpec[]): AssignmentFormat {
  const inputs: InputOptions = { inline: SMALL_INPUTS, beyond: "described", pathOf: (target) => `nodes/${target}` };
  return { rules: "worker-rules", files: scope.describe(), inputs, audience: "loop", offered };
}

/** Half of the window is left to the answer and everything else: a byte is about a quarter of a token. */
const MOST_INPUT = 200_000;

/** One reply, no tools: everything it has to read must be in the message. */
export function inOneReply({ contextWindow }: { contextWindow: number }): AssignmentFormat {
  const inline = Math.min(MOST_INPUT, 2 * contextWindow);
  const inputs: InputOptions = { inline, beyond: "cut", pathOf: (target) => `nodes/${target}` };
  return { rules: "single-rules", files: "", inputs, audience: "nobody" };
}

/**
 * The first words of an assignment, on disk with the prompt they were said under. The prompt says who the worker is and
 * where it works; the words are the task, with what must be delivered, how it is checked and what it builds on. Both are
 * made once: what they say must not change from turn to turn.
 */
export async function beginAssignment(
  { node, worker, scope, self, cursor, workplace }: NodeWork,
  { rules, files, inputs, audience, offered }: AssignmentFormat,
) {
  const { log, prompts, now } = workplace;
  const hasProject = audience === "loop" && now().agent.created.project !== null;
  const [identity, memory, notebook, task, usual, built, project] = await Promise.all([
    textIn(scope, "identity.md"),
    textIn(scope, "memory.md"),
    textIn(scope, "notebook.md"),
    taskOf(node, scope, workFolderOf(node, audience, workplace)),
    prompts(rules),
    inputWords(node, scope, now().board, inputs),
    hasProject ? projectInstructions(scope, projectFolder(scope)) : "",
  ]);
  const around = await surroundingsOf(scope, workplace, audience);
  const inRepository = audience === "nobody" ? undefined : await workplace.repository?.aboutChecks();
  const system = workerPrompt({
    name: worker.spawned.name,
    identity,
    memory,
    notebook,
    surroundings: [around, inRepository].filter(Boolean).join("\n"),
    project,
    team: audience === "nobody" ? goalWords(node, now()) : teamWords(node, worker, now()),
    rules: (offered ? rulesWith(usual, offered) : usual).replaceAll("{file}", answerFileName(node)),
    files,
  });
  const first: UserEntry = {
    role: "user",
    from: node.spec.created_by,
    content: [task, built].filter(Boolean).join("\n\n"),
    node_id: node.id,
    run_id: node.spec.run_id,
    upto: cursor,
    // When it is resumed, it is still this assignment.
    ...(node.reopened && "assigned_seq" in node && { assigned: node.assigned_seq }),
  };
  const entries: Entry[] = [{ role: "system", content: system }, first];
  await log.append({ entries: { file: self.conversation, entries } }).durable;
  return { system, history: [first], words: first.content, turn: 1, tried: 0, flushTurns: 0, cursor };
}

function workFolderOf({ spec }: NodeState, audience: AssignmentFormat["audience"], { repository }: Workplace) {
  if (audience === "nobody") return "unsaid";
  if (repository && spec.inference !== "single") return "repository";
  return audience === "loop" ? "scratch" : "current folder";
}

/** Enough for the longest task: 32,000 characters, three bytes each. */
const MAX_SPEC_BYTES = 256 * 1024;

/** If the coordinator has edited `_spec.md`, that is the task. If the file cannot be read, the record has the task. */
async function taskOf({ id, spec: made }: NodeState, scope: Scope, where: WorkFolder): Promise<string> {
  try {
    const spec = await beginningOf(scope, "_spec.md", MAX_SPEC_BYTES);
    const changed = spec === specFile({ id, ...made }) ? "" : spec.replace(/^# node-\d+\n+/, "").trim();
    return changed || specText(made, where);
  } catch (error) {
    if (isUnreadable(error)) return specText(made, where);
    throw error;
  }
}

const MAX_PROMPT_FILE_BYTES = 64 * 1024;

/** Read through the worker's own scope: its shell could have replaced its notes by a link to anything. */
export async function textIn(scope: Scope, path: string): Promise<string> {
  try {
    return await beginningOf(scope, path, MAX_PROMPT_FILE_BYTES);
  } catch (error) {
    if (isUnreadable(error)) return `(${path} cannot be read: ${error.message})`;
    throw error;
  }
}

async function beginningOf(scope: Scope, path: string, maxBytes: number): Promise<string> {
  const { bytes, truncated } = await scope.readFile(path, { maxBytes });
  return `${bytes.toString("utf8")}${truncated ? `\n(${path} goes on; this is its beginning.)` : ""}`;
}

function isUnreadable(error: unknown): error is ScopeRefusal | FileNotFound {
  return error instanceof ScopeRefusal || error instanceof FileNotFound;
}
