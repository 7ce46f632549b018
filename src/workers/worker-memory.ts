import { posix } from "node:path";
import { lastingStatements } from "../memory/contradictions.ts";
import type { Embedder } from "../memory/meaning.ts";
import { Memory, type PersonsTime } from "../memory/memory.ts";
import { recall, recalledParts } from "../memory/recall.ts";
import { isListing } from "../memory/search.ts";
import { plainLine, type Statement } from "../memory/statements.ts";
import { upkeepByTheWay, upkeepOf } from "../memory/upkeep.ts";
import type { Situation } from "../projections/index.ts";
import { COORDINATOR, type Entry, type NewFact, type Outcome, type RunId } from "../protocol/index.ts";
import { agentMemoryFiles, personMemoryFiles, workerMemoryFiles } from "../store/run/memory-files.ts";
import type { Scope } from "../store/scope/scope.ts";
import { ScopeRefusal } from "../store/scope/scope-refusal.ts";
import { agentMemoryTools, workerMemoryTools } from "../tools/memory.ts";
import type { Tool } from "../tools/tool.ts";
import type { ActingWorker, Recorder } from "./loop/recorded-loop.ts";
import { LEARNED, oneLine, runMark, runNote, withoutTold } from "./run-notes.ts";

/** What a run begins with in mind; about a twentieth of a common context window. */
const RECALL_TOKENS = 8000;

/** The coordinator has the agent's memory, a worker only its own. */
export function memoryTools(self: ActingWorker, workplace: Recorder, embedder?: Embedder): Tool[] {
  const { log, now } = workplace;
  const record = (...facts: NewFact[]) => log.append({ facts }).durable;
  const port = { record, by: self.worker_id, embedder };
  if (self.worker_id === COORDINATOR) {
    const { toHuman } = workplace;
    return agentMemoryTools({
      ...port,
      memory: agentMemory(workplace),
      insights: () => now().insights.open,
      author: { run: () => now().agent.run?.id ?? "run-1", agent: now().agent.created.name },
      ...(toHuman && { toHuman: (text) => toHuman(COORDINATOR, text) }),
    });
  }
  const run = self.node_id && now().board.nodes[self.node_id]?.spec.run_id;
  if (!run) return [];
  const memory = new Memory(workerMemoryFiles(log.dir, run, self.worker_id), timeOf(workplace));
  return workerMemoryTools({ ...port, memory }, { worker_id: self.worker_id, node_id: self.node_id });
}

/**
 * The coordinator's files for its file tools. What is a memory file is written as by memory_write: what it said before is
 * kept, a daily log only grows, and the write is on record.
 */
export function withMemoryKept(scope: Scope, workplace: Recorder): Scope {
  const { log } = workplace;
  return {
    readFile: (path, options) => scope.readFile(path, options),
    openFile: (path) => scope.openFile(path),
    openChecked: (path) => scope.openChecked(path),
    list: (path, options) => scope.list(path, options),
    describe: () => scope.describe(),
    binds: () => scope.binds(),
    cwd: scope.cwd,
    top: scope.top,
    async writeFile(path, content) {
      const file = memoryFileIn(path, log.dir);
      if (file === undefined || typeof content !== "string") return scope.writeFile(path, content);
      const written = await agentMemory(workplace).write(file, content, "replace");
      const data = { path: written.path, bytes: written.bytes, by: COORDINATOR };
      await log.append({ facts: [{ type: "memory.written", data }] }).durable;
      return { bytes: written.bytes };
    },
  };
}

/** As the memory names it; undefined if the path leads elsewhere. */
function memoryFileIn(path: string, agentDir: string): string | undefined {
  const asked = path.trim();
  const own = asked.startsWith(`${agentDir}/`) ? `agent${asked.slice(agentDir.length)}` : asked;
  const plain = posix.normalize(own);
  return /^agent\/(?:memory\/(?!(?:.*\/)?\.).+\.md|MEMORY\.md)$/.test(plain) ? plain : undefined;
}

/**
 * For the prompt, once a run: what the agent knows, the insights of its last team that wait for a decision, and which
 * parts of its memory need upkeep. An infinite agent has a trigger for that; a finite one does it when it is awake anyway.
 * Of earlier runs, what the conversation that follows (`shown`) does not tell.
 */
export async function recalled(
  workplace: Recorder,
  keeps: "memory" | "nothing",
  shown: readonly Entry[],
): Promise<string> {
  const memory = agentMemory(workplace);
  const words = await recall(memory, RECALL_TOKENS, withoutTold(shown));
  const open = insightsIn(workplace.now());
  const hasTrigger = workplace.now().agent.created.mode === "infinite";
  const upkeep = !hasTrigger && keeps === "memory" ? await upkeepByTheWay(memory, workplace.clock.now()) : "";
  return [words, open, upkeep].filter((part) => part !== "").join("\n\n");
}

/** For a summary: what a run begins with in mind, as it is now. */
export async function memoryNow(
  workplace: Pick<Recorder, "log" | "clock" | "sharedMemory" | "timeZone">,
): Promise<string> {
  const parts = await recalledParts(agentMemory(workplace), RECALL_TOKENS);
  return parts.map(({ path, text }) => `### ${path}\n\n${text}`).join("\n\n");
}

/** The parts of its memory that the agent is always shown, file by file, without the list of the other files. */
export async function shownMemory(
  workplace: Pick<Recorder, "log" | "clock" | "sharedMemory" | "timeZone">,
): Promise<{ path: string; text: string }[]> {
  return (await recalledParts(agentMemory(workplace), RECALL_TOKENS)).filter(({ path }) => !isListing(path));
}

function insightsIn({ insights }: Situation): string {
  const lines = Object.values(insights.open).map(({ id, worker_id, title }) => `- ${id} from ${worker_id}: ${title}`);
  return lines.length > 0 ? `## Insights that wait for your decision\n\n${lines.join("\n")}` : "";
}

/**
 * Keeps what a run taught, except for lines that are noted already; resolves with the others. Safe to repeat.
 */
export async function keepLearned(
  run: { id: RunId; goal: string },
  learned: string,
  workplace: Pick<Recorder, "log" | "clock" | "timeZone">,
): Promise<string> {
  const memory = agentMemory(workplace);
  const known = await lastingStatements(memory, NOTED);
  const ofThisRun = known.filter(({ path, by }) => path === LEARNED && by === run.id);
  const others = known.filter((each) => !ofThisRun.includes(each));
  const fresh = linesBut(others, learned);
  const toWrite = linesBut(ofThisRun, fresh);
  const heading = `## ${oneLine(run.goal)} (${run.id})`;
  if (toWrite !== "") await memory.write(LEARNED, `${heading}\n\n${toWrite}`, "append", run.id);
  return fresh;
}

/**
 * The same in the middle of a run, which goes on even if this fails: if the file is full, the daily log gets it. Resolves
 * with what the author should know; empty if there is nothing to say.
 */
export async function keepLesson(
  run: { id: RunId; goal: string },
  learned: string,
  workplace: Pick<Recorder, "log" | "clock" | "timeZone">,
): Promise<string> {
  const refusal = await refusedBy(keepLearned(run, learned, workplace));
  if (refusal === null) return "";
  const memory = agentMemory(workplace);
  const isLost = await refusedBy(memory.write(memory.today, `Learned: ${learned.trim()}`, "append"));
  return isLost
    ? `What you learned was not kept: ${isLost.message}`
    : `What you learned is in today's log alone: ${refusal.message}`;
}

function refusedBy(writing: Promise<unknown>): Promise<ScopeRefusal | null> {
  return writing.then(
    () => null,
    (error: unknown) => {
      if (error instanceof ScopeRefusal) return error;
      throw error;
    },
  );
}

function linesBut(known: readonly Statement[], text: string): string {
  const lines = new Set(known.map((each) => plainLine(each.text)));
  return text
    .trim()
    .split("\n")
    .filter((line) => !lines.has(plainLine(line)))
    .join("\n")
    .trim();
}

/** Where something that was learned may stand already: everywhere but in logs and lists. */
const NOTED = /^(?!\d{4}-\d{2}-\d{2}\.md$|(?:person\/)?index\.md$)/;

/**
 * One line in the daily log, so that the next run knows what this one did. Safe to repeat: a run is noted once, also
 * when a crash puts midnight between the two.
 */
export async function noteRun(
  run: { id: RunId; goal: string },
  outcome: Extract<Outcome, { kind: "finished" }>,
  workplace: Pick<Recorder, "log" | "clock" | "timeZone">,
): Promise<void> {
  const memory = agentMemory(workplace);
  for (const path of (await memory.dailyLogs()).slice(0, 2))
    if ((await memory.readIfThere(path)).includes(runMark(run.id))) return;
  // Its file may be full: the log says it all the same.
  const fresh = outcome.learned
    ? await keepLearned(run, outcome.learned, workplace).catch(() => outcome.learned ?? "")
    : "";
  await memory.write(memory.today, runNote(run, outcome, fresh), "append");
}

/** What is to be done for its memory, in words; null where there is nothing. */
export function memoryUpkeep(workplace: Pick<Recorder, "log" | "clock" | "timeZone">): Promise<string | null> {
  return upkeepOf(agentMemory(workplace), workplace.clock.now());
}

function agentMemory(workplace: Pick<Recorder, "log" | "clock" | "sharedMemory" | "timeZone">): Memory {
  const person = workplace.sharedMemory ? personMemoryFiles(workplace.sharedMemory) : undefined;
  return new Memory(agentMemoryFiles(workplace.log.dir), timeOf(workplace), person);
}

function timeOf(workplace: Pick<Recorder, "clock" | "timeZone">): PersonsTime {
  return {
    now: () => workplace.clock.now(),
    get timeZone() {
      return workplace.timeZone;
    },
  };
}
