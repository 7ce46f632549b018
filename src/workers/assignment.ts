import type { NodeState, WorkerState } from "../projections/index.ts";
import type { Entry, UserEntry } from "../protocol/index.ts";
import type { Scope } from "../store/scope.ts";
import { FileNotFound, ScopeRefusal } from "../store/scope-refusal.ts";
import type { Actor } from "./carry-out.ts";
import { type PromptName, workerPrompt } from "./prompt.ts";
import type { Workplace } from "./workplace.ts";

/** The first words of an assignment, on disk with the prompt they were said under. */
export async function beginAssignment(
  node: NodeState,
  worker: WorkerState,
  scope: Scope,
  actor: Actor,
  cursor: number,
  { log, prompts, today }: Workplace,
  rulesFor: { rules: PromptName; files: string } = { rules: "worker-rules", files: scope.describe() },
) {
  const [identity, memory, notebook, spec, rules] = await Promise.all([
    textIn(scope, "identity.md"),
    textIn(scope, "memory.md"),
    textIn(scope, "notebook.md"),
    textIn(scope, "_spec.md"),
    prompts(rulesFor.rules),
  ]);
  const refs = Object.entries(node.spec.refs)
    .map(([name, target]) => `- ${name}: nodes/${target}`)
    .join("\n");
  const brief = {
    name: worker.spawned.name,
    identity,
    memory,
    notebook,
    today: today(),
    spec,
    refs,
    rules,
    files: rulesFor.files,
  };
  const system = workerPrompt(brief);
  const first: UserEntry = {
    role: "user",
    from: node.spec.created_by,
    content: node.spec.task,
    node_id: node.id,
    run_id: node.spec.run_id,
    upto: cursor,
  };
  const entries: Entry[] = [{ role: "system", content: system }, first];
  await log.append({ entries: { file: actor.conversation, entries } }).durable;
  return { system, history: [first], turn: 1, tried: 0, flushTurns: 0, cursor };
}

const MAX_PROMPT_FILE_BYTES = 64 * 1024;

/** By the worker's own scope: its shell could have put a link to anything in the place of its notes. */
export async function textIn(scope: Scope, path: string): Promise<string> {
  try {
    const { bytes, truncated } = await scope.readFile(path, { maxBytes: MAX_PROMPT_FILE_BYTES });
    return `${bytes.toString("utf8")}${truncated ? `\n(${path} goes on; this is its beginning.)` : ""}`;
  } catch (error) {
    if (error instanceof ScopeRefusal || error instanceof FileNotFound)
      return `(${path} cannot be read: ${error.message})`;
    throw error;
  }
}
