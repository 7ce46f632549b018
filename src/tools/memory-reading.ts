import { z } from "zod";
import { differences, statementsIn } from "../memory/contradictions.ts";
import type { Embedder } from "../memory/meaning.ts";
import type { Memory } from "../memory/memory.ts";
import { type FoundSection, isListing, searchMemory, textOfNote, unsearched } from "../memory/search.ts";
import { termsToFind } from "../memory/search-terms.ts";
import type { StampedFile } from "../store/run/memory-files.ts";
import { refusalsAsResults } from "./file-refusals.ts";
import { defineTool, refusal, type Tool, type ToolOutput } from "./tool.ts";

/** A memory to read, and by what it is searched besides words. */
interface ReadableMemory {
  memory: Memory;
  embedder?: Embedder | undefined;
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
/** For reading and searching one participant's memory. */
export function memoryReadingTools(port: ReadableMemory): Tool[] {
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

async function search({ memory, embedder }: ReadableMemory, query: string, signal: AbortSignal): Promise<ToolOutput> {
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
