import type { Entry } from "../protocol/index.ts";
import type { ToolSpec } from "./model.ts";

/** The estimate is off by a quarter at most, so we compact a quarter before the limit. */
export const NEAR = 0.75;
const BYTES_PER_TOKEN = 4;
/** About what providers count for a large one. */
const PICTURE_TOKENS = 1600;

/**
 * About how many tokens the next request takes: the provider's count of the last one, plus the size of what came since.
 * Without a count (no reply yet, a server that does not count, or a summary since) it is the size of everything,
 * including the prompt and the tools before the history.
 */
export function contextTokens(history: readonly Entry[], overhead: number): number {
  const at = history.findLastIndex((entry) => entry.role === "assistant");
  const reply = history[at];
  if (reply?.role !== "assistant" || reply.usage.input === 0 || at < firstSinceSummary(history))
    return overhead + entryTokens(history);
  return reply.usage.input + reply.usage.output + entryTokens(history.slice(at + 1));
}

/**
 * The first entry after the summary. Entries that the summary kept come before it, and were counted with what it hides.
 */
export function firstSinceSummary([head]: readonly Entry[]): number {
  return head?.role === "summary" ? 1 + (head.kept ?? 0) : 0;
}

export function entryTokens(entries: readonly Entry[]): number {
  return Math.ceil(entries.reduce((sum, entry) => sum + bytesOf(entry), 0) / BYTES_PER_TOKEN);
}

export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

const specSizes = new WeakMap<object, { name: string; description: string; bytes: number }>();

/**
 * The tokens that the tools take in a request. Each is measured once for all workers, since its schema is built once.
 */
export function toolTokens(tools: readonly ToolSpec[]): number {
  const bytes = tools.reduce((sum, tool) => sum + specBytes(tool) + 1, 1);
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

function specBytes({ name, description, parameters }: ToolSpec): number {
  const known = specSizes.get(parameters);
  if (known?.name === name && known.description === description) return known.bytes;
  const bytes = Buffer.byteLength(JSON.stringify({ name, description, parameters }));
  specSizes.set(parameters, { name, description, bytes });
  return bytes;
}

export function bytesFor(tokens: number): number {
  return Math.floor(tokens * BYTES_PER_TOKEN);
}

const sizes = new WeakMap<Entry, number>();

/** An entry does not change, so it is measured once. */
function bytesOf(entry: Entry): number {
  let bytes = sizes.get(entry);
  if (bytes === undefined) {
    bytes = Buffer.byteLength(typeof entry.content === "string" ? entry.content : JSON.stringify(entry.content));
    if (entry.role === "tool" && entry.picture) bytes += PICTURE_TOKENS * BYTES_PER_TOKEN;
    sizes.set(entry, bytes);
  }
  return bytes;
}
