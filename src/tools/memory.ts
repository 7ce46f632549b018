import { z } from "zod";
import { contradicted, contradictionWords, differences, statementsIn } from "../memory/contradictions.ts";
import type { Embedder } from "../memory/meaning.ts";
import { type Memory, SHOWN_BYTES, type WrittenNote } from "../memory/memory.ts";
import { type FoundSection, isListing, searchMemory, textOfNote, unsearched } from "../memory/search.ts";
import { termsToFind } from "../memory/words.ts";
import type { Insight } from "../projections/index.ts";
import type { NewFact } from "../protocol/index.ts";
import type { StampedFile } from "../store/run/memory-files.ts";
import { refusalsAsResults } from "./file-refusals.ts";
import { defineTool, hidden, refusal, type Tool, type ToolOutput } from "./tool.ts";

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

const ANSWER_TOKENS = 4000;
/** Seed 002 §7.3: a memory this small is read whole instead of searched. */
const SMALL_BYTES = 20 * 1024;

const toSearch = z.object({ query: z.string().min(1).max(2000) });
const toRead = z.object({
  path: z.string().optional(),
  from_line: z.int().min(1).optional(),
  to_line: z.int().min(1).optional(),
});
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
      description: `Keep something for later runs, each thing under a short ## heading: MEMORY.md (shown to you at every start: keep it short), knowledge/TOPIC.md, experiences/TOPIC.md (what worked and what did not), preferences/TOPIC.md (what your human likes);${person} without path, today's log. index.md lists the files by itself.`,
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
    ...readingTools(port),
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
    hidden(
      defineTool({
        name: "memory_write",
        description: "Keep something for your later nodes. Only you read it.",
        repeatable: true,
        parameters: workerWrites,
        run: ({ path, content: words, mode }) => write(port, path, words, mode),
      }),
    ),
    // Both files are in the prompt, and the file tools read and write them.
    ...readingTools(port).map(hidden),
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

function readingTools(port: MemoryPort): Tool[] {
  return [
    defineTool({
      name: "memory_read",
      description: "Read a file of your memory; without path, list them.",
      repeatable: true,
      readOnly: true,
      parameters: toRead,
      run: ({ path, from_line, to_line }) =>
        refusalsAsResults(async () =>
          path === undefined ? await listing(port.memory) : lines(await port.memory.read(path), from_line, to_line),
        ),
    }),
    defineTool({
      name: "memory_search",
      description: "Search your memory by words; it knows no synonyms, so try several.",
      repeatable: true,
      readOnly: true,
      parameters: toSearch,
      run: ({ query }, signal) => refusalsAsResults(() => search(port, query, signal)),
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
    `No insight "${id}" waits for you. ${open.length > 0 ? `There are: ${open.join(", ")}.` : "None does."}`,
  );
}

async function search({ memory, embedder }: MemoryPort, query: string, signal: AbortSignal): Promise<ToolOutput> {
  const all = await memory.list();
  const files = all.filter(({ path, bytes }) => !isListing(path) && bytes > 0);
  if (files.length === 0) return "Your memory is empty.";
  if (files.reduce((sum, { bytes }) => sum + bytes, 0) < SMALL_BYTES) return wholeMemory(memory, files, query);
  const found = await searchMemory(memory.searchable, query, {
    ...{ tokens: ANSWER_TOKENS, timeZone: memory.timeZone, embedder, signal },
  });
  const notSearched = unsearched(all).map((each) => `(${each})`);
  if (found.length === 0)
    return ["No note has any of these words. Try others, or see the list with memory_read.", ...notSearched].join("\n");
  return [...(await differing(found, query)), ...found.map(shown), ...notSearched].join("\n\n---\n\n");
}

async function wholeMemory(memory: Memory, files: readonly StampedFile[], query: string): Promise<string> {
  const texts = await Promise.all(
    files.map(async ({ path, changedAt }) => {
      const text = (await textOfNote(memory.searchable, path)) ?? "(cannot be read)";
      return { path, text, from_line: 1, day: memory.dayOf(changedAt) };
    }),
  );
  const parts = [...(await differing(texts, query)), ...texts.map(({ path, text }) => `**${path}**\n\n${text.trim()}`)];
  return `Your memory is small; this is all of it.\n\n${parts.join("\n\n---\n\n")}`;
}

function differing(
  found: readonly Pick<FoundSection, "path" | "text" | "from_line" | "day">[],
  query: string,
): Promise<string[]> {
  const terms = termsToFind(query).map(([word]) => word.replace(/s$/, ""));
  return differences(statementsIn(found), ({ words }) => terms.some((word) => words.has(word)));
}

function shown({ path, from_line, day, headings, text }: FoundSection): string {
  const above = text.startsWith("#") ? headings.slice(0, -1) : headings;
  return `**${[`${path}:${from_line} · ${day}`, ...above].join(" › ")}**\n\n${text}`;
}

function lines(text: string, from = 1, to = Number.POSITIVE_INFINITY): ToolOutput {
  if (from === 1 && to === Number.POSITIVE_INFINITY) return text;
  const all = text.split("\n");
  if (from > all.length || to < from) return refusal(`It has ${all.length} lines. Ask for some of those.`);
  return all.slice(from - 1, to).join("\n");
}

async function listing(memory: Memory): Promise<string> {
  const files = (await memory.list()).map(({ path, bytes }) => `${path} (${bytes} bytes)`);
  return files.join("\n") || "(Your memory is empty.)";
}
