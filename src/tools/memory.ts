import { z } from "zod";
import { contradicted, contradictionWords } from "../memory/contradictions.ts";
import type { Embedder } from "../memory/meaning.ts";
import { type Memory, SHOWN_BYTES, type WrittenNote } from "../memory/memory.ts";
import type { Insight } from "../projections/index.ts";
import type { NewFact } from "../protocol/index.ts";
import { refusalsAsResults } from "./file-refusals.ts";
import { memoryReadingTools } from "./memory-reading.ts";
import { defineTool, hidden, refusal, setAside, type Tool, type ToolOutput } from "./tool.ts";

/** One participant's memory, and where its changes are recorded. */
export interface MemoryPort {
  memory: Memory;
  /** Durable when it resolves. */
  record(...facts: NewFact[]): Promise<void>;
  /** A worker's id. */
  by: string;
  embedder?: Embedder | undefined;
}

/** What the coordinator may decide about. */
export interface InsightsPort extends MemoryPort {
  insights(): Readonly<Record<string, Insight>>;
  /** Who notes something, for later runs; and for other agents, which share the human's memory. */
  author: { run(): string; agent: string };
  /** A message to the human. */
  toHuman?(text: string): NewFact;
}

const toForget = z.object({
  path: z.string(),
  what: z
    .string()
    .min(1)
    .describe("The words exactly as they stand there; a heading line stands for its whole section."),
});
const agentWrites = z.object({
  path: z.string().optional(),
  content: z.string(),
  mode: z.enum(["append", "replace"]).default("append"),
  supersedes: z
    .string()
    .optional()
    .describe("Exact words of that file that are no longer true: content takes their place; empty, they go."),
});
const workerWrites = agentWrites
  .omit({ supersedes: true })
  .extend({ path: z.enum(["memory.md", "notebook.md"]).default("memory.md") });
const offer = z.object({
  title: z.string().min(1).max(120),
  content: z.string().min(1).max(4000),
});
const accept = z.object({
  insight_id: z.string(),
  path: z.string().optional().describe("e.g. knowledge/chips.md"),
  decline: z.boolean().default(false),
});
const decline = z.object({ insight_id: z.string(), why: z.string().max(500).default("") });

/** The agent's memory, for its coordinator. */
export function agentMemoryTools(port: InsightsPort): Tool[] {
  const isShared = port.memory.isShared("person/index.md");
  const person = isShared ? " the same under person/…: for all agents of your human;" : "";
  return [
    defineTool({
      name: "memory_write",
      description: `Keep something for later runs, each thing under a short ## heading: MEMORY.md and preferences/TOPIC.md (what your human likes), shown to you at every start: keep them short; knowledge/TOPIC.md; experiences/TOPIC.md (what worked or not);${person} without path, today's log. index.md lists the files by itself.`,
      repeatable: true,
      parameters: agentWrites,
      run: ({ path, content: words, mode, supersedes }) =>
        words === "" && supersedes !== undefined
          ? forget(port, path, supersedes)
          : supersedes === undefined
            ? note(port, path ?? port.memory.today, words, mode)
            : supersede(port, path, supersedes, words),
    }),
    hidden(
      defineTool({
        name: "memory_forget",
        description: "Take something out of your memory that nothing replaces. The version before is kept.",
        repeatable: false,
        parameters: toForget,
        run: ({ path, what }) => forget(port, path, what),
      }),
    ),
    ...memoryReadingTools(port),
    defineTool({
      name: "accept_insight",
      description: "Take an insight that a worker offers into your memory, or decline it.",
      repeatable: true,
      parameters: accept,
      run: ({ insight_id, path, decline: isDeclined }) =>
        isDeclined
          ? declineInsight(port, insight_id, "")
          : acceptInsight(port, insight_id, path ?? "knowledge/insights.md"),
    }),
    hidden(
      defineTool({
        name: "decline_insight",
        description: "Leave an insight out of your memory: wrong, trivial, or of use only now.",
        repeatable: true,
        parameters: decline,
        run: ({ insight_id, why }) => declineInsight(port, insight_id, why),
      }),
    ),
  ];
}

/** A worker's own memory; and a way to offer something to the agent's, which it cannot see. */
export function workerMemoryTools(
  port: MemoryPort,
  self: { worker_id: string; node_id: `node-${number}` | null },
): Tool[] {
  return [
    setAside(
      defineTool({
        name: "memory_write",
        description: "Keep something for your later nodes. Only you read it.",
        repeatable: true,
        parameters: workerWrites,
        run: ({ path, content: words, mode }) => write(port, path, words, mode),
      }),
    ),
    // Both files are in the prompt, and the file tools read and write them.
    ...memoryReadingTools(port).map(setAside),
    defineTool({
      name: "offer_insight",
      description: "Offer the agent's memory what will be true and useful after this run. The coordinator decides.",
      repeatable: false,
      parameters: offer,
      async run({ title, content: words }) {
        await port.record({ type: "insight.offered", data: { ...self, title, content: words } });
        return "The coordinator has it and decides. Go on with your work.";
      },
    }),
  ];
}

async function forget(port: MemoryPort, path: string | undefined, what: string): Promise<ToolOutput> {
  if (path === undefined) return refusal("Name the file whose words are to go.");
  return recorded(
    port,
    port.memory.forget(path, what),
    ({ path: file, bytes }) =>
      `Taken out of ${file} (${bytes} bytes now). Daily logs that say it stay as they are: note there that it is no longer true.`,
  );
}

async function write(port: MemoryPort, path: string, words: string, mode: "append" | "replace"): Promise<ToolOutput> {
  if (words === "") return refusal("There is nothing to write: content is empty.");
  return recorded(port, port.memory.write(path, words, mode), remembered);
}

async function note(port: InsightsPort, path: string, words: string, mode: "append" | "replace"): Promise<ToolOutput> {
  if (words === "") return refusal("There is nothing to write: content is empty.");
  return refusalsAsResults(async () => {
    const by = authorOf(port, path);
    const others = mode === "append" ? await contradicted(port.memory, path, words, by) : [];
    const done = port.memory.write(path, words, mode, by);
    return recorded(port, done, (written) => `${remembered(written)}${contradictionWords(others)}`);
  });
}

function authorOf({ memory, author: { run, agent } }: InsightsPort, path: string): string {
  return memory.isShared(path) ? `${agent} ${run()}` : run();
}

async function supersede(
  port: InsightsPort,
  path: string | undefined,
  old: string,
  words: string,
): Promise<ToolOutput> {
  if (path === undefined) return refusal("Name the file whose words are superseded.");
  return refusalsAsResults(() =>
    recorded(
      port,
      port.memory.supersede(path, old, words, authorOf(port, path)),
      (written) => `${remembered(written)} It stands in the place of the old words.`,
    ),
  );
}

/** One append: what is in the file, what is told of it and what is decided by it are never parted. */
function recorded(
  port: MemoryPort & Partial<InsightsPort>,
  done: Promise<WrittenNote>,
  words: (written: WrittenNote) => string,
  decided: (written: WrittenNote) => NewFact[] = () => [],
): Promise<ToolOutput> {
  return refusalsAsResults(async () => {
    const written = await done;
    const told = written.outgrown && port.toHuman ? [port.toHuman(tooLong(written))] : [];
    await port.record(
      { type: "memory.written", data: { path: written.path, bytes: written.bytes, by: port.by } },
      ...decided(written),
      ...told,
    );
    return words(written);
  });
}

/** Said once each time it outgrows what is shown. */
function tooLong({ path, bytes }: WrittenNote): string {
  return `My ${path} has ${bytes} bytes now, more than the ${SHOWN_BYTES} that I see when a run begins. I will be asked to shorten it; you may do so too. What it said before is kept.`;
}

function remembered({ path, bytes, warning }: WrittenNote): string {
  return `Remembered in ${path} (${bytes} bytes).${warning ? ` ${warning}` : ""}`;
}

async function acceptInsight(port: InsightsPort, id: string, path: string): Promise<ToolOutput> {
  const insight = port.insights()[id];
  if (!insight) return unknownInsight(port, id);
  return refusalsAsResults(async () => {
    const words = `## ${insight.title}\n\n${insight.content.trim()}`;
    const by = `${authorOf(port, path)}, from ${insight.worker_id}`;
    return recorded(port, port.memory.write(path, words, "append", by), remembered, (written) => [
      { type: "insight.accepted", data: { insight_id: id, path: written.path } },
    ]);
  });
}

async function declineInsight(port: InsightsPort, id: string, why: string): Promise<ToolOutput> {
  if (!port.insights()[id]) return unknownInsight(port, id);
  await port.record({ type: "insight.declined", data: { insight_id: id, why } });
  return `Declined ${id}.`;
}

function unknownInsight(port: InsightsPort, id: string): ToolOutput {
  const open = Object.keys(port.insights());
  return refusal(
    `No insight "${id}" waits for you. ${open.length > 0 ? `Choose from: ${open.join(", ")}.` : "None does."}`,
  );
}
