import { entryTokens } from "../../models/tokens.ts";
import type { Entry, Part, RunId } from "../../protocol/index.ts";

/** Where the longest tail begins that fits and holds no more turns than this; never between a call and its result. */
export function tailWithin(history: readonly Entry[], tokens: number, mostTurns: number): number {
  let start = history.length;
  let turns = 0;
  let size = 0;
  for (let at = history.length - 1; at >= 0; at--) {
    const entry = history[at];
    if (entry === undefined || entry.role === "summary") break;
    size += entryTokens([entry]);
    if (entry.role === "assistant") turns += 1;
    if (size > tokens || turns > mostTurns) break;
    if (entry.role !== "tool") start = at;
  }
  return start;
}

/**
 * The same conversation in less room, for one request: first the oldest results are cut, then the arguments of calls,
 * then words, and only then the oldest turns left out.
 */
export function trimmed(history: readonly Entry[], tokens: number): Entry[] {
  const entries = [...history];
  let size = entryTokens(entries);
  for (const shorten of [shortResult, shortCalls, shortWords]) {
    // The last entry is what is asked for now.
    for (let at = 0; at < entries.length - 1 && size > tokens; at++) {
      const entry = entries[at] as Entry;
      const short = shorten(entry);
      size -= entryTokens([entry]) - entryTokens([short]);
      entries[at] = short;
    }
  }
  return size > tokens ? entries.slice(tailWithin(entries, tokens, Number.POSITIVE_INFINITY)) : entries;
}

/**
 * What was done in earlier runs, in short: the words stay, results and long arguments are cut, and what the prompt has word
 * for word, as notes in its memory, is not repeated. A run begins with another prompt, so no provider has the
 * conversation in its cache; files are still there to be read.
 */
export function withShortPast(history: readonly Entry[], run: RunId, prompt = ""): Entry[] {
  const begins = history.findIndex((entry) => entry.role === "user" && entry.run_id === run);
  const inShort = (entry: Entry) => shortCalls(shortResult(withArguments((text) => unlessIn(prompt, text), entry)));
  return history.map((entry, at) => (at < begins ? inShort(entry) : entry));
}

/** Shorter texts, as paths, are no longer than what stands in their place. */
const WORTH_IT = 60;

function unlessIn(prompt: string, text: string): string {
  const words = text.trim();
  return words.length > WORTH_IT && prompt.includes(words) ? "(word for word in your prompt)" : text;
}

const SHORT = 400;

function shortResult(entry: Entry): Entry {
  if (entry.role !== "tool") return entry;
  const { picture: _, ...result } = entry;
  return { ...result, content: abridged(entry.content, SHORT) };
}

function shortWords(entry: Entry): Entry {
  return entry.role === "user" || entry.role === "summary"
    ? { ...entry, content: abridged(entry.content, 4 * SHORT) }
    : entry;
}

function shortCalls(entry: Entry): Entry {
  return withArguments((text) => abridged(text, SHORT), entry);
}

/** The arguments of calls that are texts, each as `change` has it. */
function withArguments(change: (text: string) => string, entry: Entry): Entry {
  return entry.role === "assistant"
    ? { ...entry, content: entry.content.map((part) => withTexts(change, part)) }
    : entry;
}

function withTexts(change: (text: string) => string, part: Part): Part {
  if (part.type !== "call" || typeof part.args !== "object" || part.args === null) return part;
  const args = Object.entries(part.args).map(([name, value]) => [
    name,
    typeof value === "string" ? change(value) : value,
  ]);
  return { ...part, args: Object.fromEntries(args) };
}

/** The beginning of a text, saying that it is only that. */
export function abridged(text: string, length: number): string {
  return text.length > length
    ? `${text.slice(0, length).toWellFormed()}\n(… ${text.length - length} more characters are left out here)`
    : text;
}
