import { join } from "node:path";
import { z } from "zod";
import { Memory, type PersonsTime } from "../../memory/memory.ts";
import { type FoundSection, searchMemory, unsearched } from "../../memory/search.ts";
import { type Settings, zoneOf } from "../../runtime/config/settings.ts";
import { agentMemoryFiles, personMemoryFiles } from "../../store/run/memory-files.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { lookAt, lookAtAgent } from "../home/look.ts";
import type { Invocation } from "../invocation.ts";
import { bytes } from "../wording/format.ts";
import { table } from "../wording/table.ts";
import { plainLines } from "../wording/width.ts";

/** About three pages: more than a person reads, and a program can cut it itself. */
const ANSWER_TOKENS = 4000;
const LEAST_FOUND = 10;
const limitSchema = z.coerce.number().int().min(1).max(100);

interface Options {
  person?: boolean;
  path?: string;
  history?: string;
  undo?: string;
  limit?: string;
}

/**
 * Shows what an agent remembers, or what all agents share about their human: the files, one of them, or a search in
 * them. Only `undo` changes anything.
 */
export async function memory(
  call: Invocation,
  word: string | undefined,
  words: readonly string[],
  { person, path, history, undo, limit: wanted }: Options,
): Promise<ExitCode> {
  const query = (person && word !== undefined ? [word, ...words] : words).join(" ");
  if ([path, history, undo, query === "" ? undefined : query].filter((each) => each !== undefined).length > 1)
    throw new UsageError("Give only one of these: words to search for, --path, --history or --undo.");
  const limit = wanted === undefined ? undefined : limitSchema.safeParse(wanted).data;
  if (wanted !== undefined && (limit === undefined || query === ""))
    throw new UsageError("--limit takes a number from 1 to 100, together with words to search for.");
  const kept = person ? await personMemory(call) : await agentMemory(call, word);
  if (path !== undefined) await showFile(call, kept.memory, path);
  else if (history !== undefined) await showHistory(call, kept.memory, history);
  else if (undo !== undefined) await bringBack(call, kept.memory, undo);
  else if (query !== "") {
    const { timeZone } = kept.memory;
    const options = { tokens: ANSWER_TOKENS, timeZone, least: limit ?? LEAST_FOUND, look: true };
    await showFound(call, (await searchMemory(kept.memory.searchable, query, options)).slice(0, limit));
  } else await showList(call, kept);
  if ((query !== "" || (path ?? history ?? undo) === undefined) && !call.json)
    for (const each of unsearched(await kept.memory.list())) call.terminal.say(each);
  return EXIT.done;
}

interface OpenedMemory {
  memory: Memory;
  /** The folder it lies in. */
  dir: string;
  absolute(path: string): string;
}

async function agentMemory(call: Invocation, word: string | undefined): Promise<OpenedMemory> {
  if (word === undefined) throw new UsageError("Name the agent, or give --person for what all of them share.");
  const { log, settings } = await lookAtAgent(call, word);
  const files = agentMemoryFiles(log.dir);
  const shared = settings.config.memory?.shared ? personMemoryFiles(settings.home) : undefined;
  const memory = new Memory(files, timeBy(settings), shared);
  const absolute = (path: string) =>
    memory.isShared(path)
      ? join(settings.home, "memory", path.slice("person/".length))
      : join(log.dir, files.inHome(path));
  return { memory, dir: log.dir, absolute };
}

async function personMemory(call: Invocation): Promise<OpenedMemory> {
  const { settings } = await lookAt(call);
  const files = personMemoryFiles(settings.home);
  const memory = new Memory(files, timeBy(settings));
  return { memory, dir: files.root, absolute: (path) => join(files.root, path) };
}

function timeBy({ config }: Settings): PersonsTime {
  return { now: Date.now, timeZone: zoneOf(config) };
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
  if (versions.length === 0)
    return terminal.say(`No earlier version of ${path} is kept: it has not been replaced since it was written.`);
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
  terminal.say(`${file} is back to its previous version (${bytes(size)}). Repeat the command to undo this.`);
}

async function showFound({ terminal, json }: Invocation, found: readonly FoundSection[]): Promise<void> {
  if (json) {
    for (const each of found) await terminal.printJson(each);
    return;
  }
  if (found.length === 0) return terminal.say("Nothing that it remembers contains any of these words. Try others.");
  const lines = found.flatMap(({ path, from_line, headings, text }, at) => [
    ...(at > 0 ? [""] : []),
    terminal.paint.bold(plainLines([`${path}:${from_line}`, ...headings].join(" › ")).join(" ")),
    ...plainLines(text),
  ]);
  await terminal.printLines(lines);
}

async function showList({ terminal, json }: Invocation, { memory: kept, dir, absolute }: OpenedMemory): Promise<void> {
  const listed = (await kept.list()).map((file) => ({ ...file, absolute: absolute(file.path) }));
  if (json) {
    for (const { path, bytes: size, absolute: at } of listed)
      await terminal.printJson({ path, bytes: size, absolute: at });
    return;
  }
  if (listed.every((file) => file.bytes === 0)) return terminal.say("It remembers nothing yet.");
  const rows = listed.map((file) => [{ text: file.path }, { text: bytes(file.bytes), paint: terminal.paint.dim }]);
  await terminal.printLines([terminal.paint.bold(dir), ...table(rows, terminal.columns)]);
}
