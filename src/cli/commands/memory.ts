import { join } from "node:path";
import { z } from "zod";
import { Memory } from "../../memory/memory.ts";
import { type Found, searchMemory } from "../../memory/search.ts";
import { agentMemoryFiles } from "../../store/memory-files.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { bytes } from "../format.ts";
import type { Invocation } from "../invocation.ts";
import { lookAtAgent } from "../look.ts";
import { table } from "../table.ts";
import { plainLines } from "../width.ts";

/** About three pages: more than a person reads, and what a program can cut by itself. */
const ANSWER_TOKENS = 4000;
const LEAST_FOUND = 10;
const limitSchema = z.coerce.number().int().min(1).max(100);

/** What an agent remembers: its files, one of them, or what is found in them. Looking changes nothing; `undo` does. */
export async function memory(
  call: Invocation,
  word: string,
  words: readonly string[],
  { path, history, undo, limit: wanted }: { path?: string; history?: string; undo?: string; limit?: string },
): Promise<ExitCode> {
  const query = words.join(" ");
  if ([path, history, undo, query === "" ? undefined : query].filter((each) => each !== undefined).length > 1)
    throw new UsageError("Give one of these: words to look for, --path, --history or --undo with a file.");
  const limit = wanted === undefined ? undefined : limitSchema.safeParse(wanted).data;
  if (wanted !== undefined && (limit === undefined || query === ""))
    throw new UsageError("--limit takes a number from 1 to 100, and goes with words to look for.");
  const { log } = await lookAtAgent(call, word);
  const files = agentMemoryFiles(log.dir);
  const kept = new Memory(files, Date.now);
  if (path !== undefined) await showFile(call, kept, path);
  else if (history !== undefined) await showHistory(call, kept, history);
  else if (undo !== undefined) await bringBack(call, kept, undo);
  else if (query !== "") {
    const found = await searchMemory(files, query, { tokens: ANSWER_TOKENS, least: limit ?? LEAST_FOUND, look: true });
    await showFound(call, found.slice(0, limit));
  } else await showList(call, kept, log.dir);
  return EXIT.done;
}

async function showFile({ terminal, json }: Invocation, kept: Memory, path: string): Promise<void> {
  const content = await kept.read(path);
  if (json) return terminal.printJson({ path, content });
  await terminal.printLines(plainLines(content.replace(/\n$/, "")));
}

async function showHistory({ terminal, json }: Invocation, kept: Memory, path: string): Promise<void> {
  const versions = await kept.versions(path);
  if (json) {
    for (const version of versions) await terminal.printJson(version);
    return;
  }
  if (versions.length === 0) return terminal.say(`No earlier version of ${path} is kept: nothing in it was replaced.`);
  const rows = versions.map(({ replacedAt, bytes: size, name }) => [
    { text: `replaced ${replacedAt}` },
    { text: bytes(size), paint: terminal.paint.dim },
    { text: name, paint: terminal.paint.dim },
  ]);
  await terminal.printLines(table(rows, terminal.columns));
}

/** People may edit a memory at any time, also while its agent works; this is such an edit. */
async function bringBack({ terminal, json }: Invocation, kept: Memory, path: string): Promise<void> {
  const { path: file, bytes: size, version } = await kept.undo(path);
  if (json) return terminal.printJson({ path: file, bytes: size, version });
  terminal.say(`${file} says again what it said before (${bytes(size)}). The same command undoes this.`);
}

async function showFound({ terminal, json }: Invocation, found: readonly Found[]): Promise<void> {
  if (json) {
    for (const each of found) await terminal.printJson(each);
    return;
  }
  if (found.length === 0) return terminal.say("Nothing it remembers has any of these words. Try others.");
  const lines = found.flatMap(({ path, from_line, headings, text }, at) => [
    ...(at > 0 ? [""] : []),
    terminal.paint.bold(plainLines([`${path}:${from_line}`, ...headings].join(" › ")).join(" ")),
    ...plainLines(text),
  ]);
  await terminal.printLines(lines);
}

async function showList({ terminal, json }: Invocation, kept: Memory, dir: string): Promise<void> {
  const listed = (await kept.list()).map((file) => ({ ...file, absolute: join(dir, kept.files.inHome(file.path)) }));
  if (json) {
    for (const { path, bytes: size, absolute } of listed) await terminal.printJson({ path, bytes: size, absolute });
    return;
  }
  if (listed.every((file) => file.bytes === 0)) return terminal.say("It remembers nothing yet.");
  const rows = listed.map((file) => [{ text: file.path }, { text: bytes(file.bytes), paint: terminal.paint.dim }]);
  await terminal.printLines([terminal.paint.bold(dir), ...table(rows, terminal.columns)]);
}
