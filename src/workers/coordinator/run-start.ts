import { COORDINATOR, type Entry, HUMAN, type RunId, type UserEntry } from "../../protocol/index.ts";
import { conversationFile } from "../../store/paths.ts";
import type { Scope } from "../../store/scope/scope.ts";
import type { Tools } from "../../tools/toolbox.ts";
import { momentIn } from "../../triggers/wall-clock.ts";
import { textIn } from "../assignment.ts";
import { type Past, pastOf } from "../loop/past.ts";
import type { ActingWorker } from "../loop/recorded-loop.ts";
import { withShortPast } from "../loop/trimming.ts";
import { projectInstructions } from "../project-instructions.ts";
import { coordinatorPrompt } from "../prompt.ts";
import { rulesWith } from "../prompt-rules.ts";
import { type Machine, surroundingsOf } from "../surroundings.ts";
import { memoryNow, recalled } from "../worker-memory.ts";
import type { Workplace } from "../workplace.ts";
import { cycleRules, isInfinite } from "./cycles.ts";
import { seenMemory } from "./waking.ts";

export const CONVERSATION = conversationFile("run-1", COORDINATOR); // one for all runs
export const LEAD: ActingWorker = { worker_id: COORDINATOR, node_id: null, conversation: CONVERSATION };

/** What a run of the coordinator begins with. */
export interface RunStart {
  run: { id: RunId; goal: string };
  scope: Scope;
  toolbox: Tools;
  /** News up to this fact was told, or came before the run. */
  cursor: number;
  workplace: Workplace;
  /** What was said in earlier runs. */
  before: readonly Entry[];
  /** What only a program is told; a model in our loop has the short names of its scope. */
  program?: { files: string; rules: string };
}

/** The first words of a run, on disk with the prompt they were said under. Neither changes from turn to turn. */
export async function beginRun({ run, scope, toolbox, cursor, workplace, before, program }: RunStart): Promise<Past> {
  const { log, now, prompts } = workplace;
  const { created } = now().agent;
  const infinite = isInfinite(workplace);
  const firstDay = infinite ? ", your first day; each waking tells the date" : "";
  // A program is told where the file is: it reads its own way.
  const hasProject = !program && created.project !== null;
  const from = now().agent.run?.trigger ? "agiraph" : HUMAN;
  const first: UserEntry = { role: "user", from, content: run.goal, run_id: run.id, upto: cursor };
  const keeps = toolbox.specs.some(({ name }) => name === "memory_write") ? "memory" : "nothing";
  const [soul, memory, usual, machine, project, repository] = await Promise.all([
    textIn(scope, "agent/SOUL.md"),
    recalled(workplace, keeps, withShortPast([...before, first], run.id)),
    prompts("operating-rules"),
    surroundingsOf(scope, workplace, program ? "program" : "loop", firstDay),
    hasProject ? projectInstructions(scope, "project") : "",
    workplace.repository?.about() ?? "",
  ]);
  const around = [machine, repository].filter(Boolean).join("\n");
  const ours = program ? usual : rulesWith(usual, toolbox.specs);
  const rules = [ours, program?.rules ?? "", infinite ? cycleRules(created) : ""].filter(Boolean).join("\n\n");
  const brief = {
    soul,
    goal: run.goal,
    surroundings: around,
    project,
    memory,
    rules,
    files: program?.files ?? scope.describe(),
  };
  const system = coordinatorPrompt(brief);
  if (infinite) first.memory = await seenMemory(workplace, around);
  const entries: Entry[] = [{ role: "system", content: system }, first];
  await log.append({ entries: { file: CONVERSATION, entries } }).durable;
  return { system, history: [...before, first], turn: 1, tried: 0, flushTurns: 0, cursor };
}

/** What was said in all runs so far. */
export function pastHistory(stored: Awaited<ReturnType<Workplace["log"]["conversation"]>>): Entry[] {
  return pastOf(stored, "beginning", () => true)?.history ?? [];
}

/** What a summary says of the world outside the work. */
export async function surroundings(
  workplace: Workplace,
  whose: keyof Machine,
): Promise<{ today: string; commands: string; memory: string }> {
  // The prompt of other agents is younger, and says it.
  const commands = isInfinite(workplace) ? (await workplace.machine())[whose] : "";
  return {
    commands,
    today: momentIn(workplace.clock.now(), workplace.timeZone),
    memory: await memoryNow(workplace),
  };
}

/** Only the goal ends a run: a coordinator that gave up may try again when the run is resumed. */
export function withoutGivingUp(entry: Entry): Entry {
  if (entry.role !== "tool" || !entry.ending || entry.ending.kind === "finished") return entry;
  const { ending: _, ...result } = entry;
  return result;
}
