import type { Entry, Usage } from "../protocol/index.ts";

/** The estimate errs within a quarter, so we compact a quarter before the end. */
const NEAR = 0.75;
const BYTES_PER_TOKEN = 4;

/** Whether the next request would come near the end of the context window. */
export function isNearLimit(history: readonly Entry[], lastUsage: Usage | null, window: number): boolean {
  return contextTokens(history, lastUsage) >= window * NEAR;
}

/**
 * About how many tokens the next request takes: what the provider counted for the last one, plus the size of what came
 * since. Without a count (no reply yet, or a server that does not count) the size of everything.
 */
export function contextTokens(history: readonly Entry[], lastUsage: Usage | null): number {
  const lastReply = history.findLastIndex((entry) => entry.role === "assistant");
  const counted = lastUsage !== null && lastUsage.input > 0 && lastReply >= 0;
  let bytes = 0;
  for (let at = counted ? lastReply + 1 : 0; at < history.length; at++) bytes += bytesOf(history[at] as Entry);
  return (counted ? lastUsage.input + lastUsage.output : 0) + Math.ceil(bytes / BYTES_PER_TOKEN);
}

export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

const sizes = new WeakMap<Entry, number>();

/** An entry does not change, so it is measured once. */
function bytesOf(entry: Entry): number {
  let bytes = sizes.get(entry);
  if (bytes === undefined) {
    bytes = Buffer.byteLength(typeof entry.content === "string" ? entry.content : JSON.stringify(entry.content));
    sizes.set(entry, bytes);
  }
  return bytes;
}
