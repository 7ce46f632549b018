import { createHash } from "node:crypto";

/** What was there at one check. */
export interface Sight {
  hash: string;
  bytes: number;
  /** As far as it can be shown; null where it is not text, or nothing is there. */
  text: string | null;
}

export const NOT_THERE: Sight = { hash: "none", bytes: 0, text: null };

export function sightOf(content: string | Uint8Array, text: string | null): Sight {
  return {
    hash: createHash("sha256").update(content).digest("hex").slice(0, 12),
    bytes: Buffer.byteLength(content),
    text,
  };
}

const MOST_LINES = 20;
const MOST_CHARACTERS = 1500;

/**
 * What has changed: sizes and hashes, and the added and removed lines as far as both sides are known, in a few lines.
 */
export function changeWords(
  what: string,
  before: Pick<Sight, "hash" | "bytes">,
  after: Sight,
  textBefore: string | null | undefined,
): { head: string; lines: string } {
  if (after.hash === NOT_THERE.hash) return { head: `${what} is no longer there.`, lines: "" };
  const sizes =
    before.hash === NOT_THERE.hash
      ? `is there now (${after.bytes} bytes)`
      : `has changed: ${before.bytes} → ${after.bytes} bytes (${before.hash} → ${after.hash})`;
  return { head: `${what} ${sizes}.`, lines: shown(after.text, textBefore) };
}

function shown(now: string | null, before: string | null | undefined): string {
  if (now === null) return "";
  const lines = typeof before === "string" ? difference(before, now) : ["It begins:", ...now.split("\n")];
  const some = lines.slice(0, MOST_LINES).join("\n");
  const text = some.length > MOST_CHARACTERS ? `${some.slice(0, MOST_CHARACTERS).toWellFormed()}…` : some;
  const left = lines.length - MOST_LINES;
  return left > 0 ? `${text}\n(${left} more lines)` : text;
}

/** The lines of one that are not in the other, as often as they are there. */
function difference(before: string, now: string): string[] {
  const [gone, come] = [surplus(before, now), surplus(now, before)];
  return [...gone.map((line) => `- ${line}`), ...come.map((line) => `+ ${line}`)];
}

function surplus(of: string, over: string): string[] {
  const left = new Map<string, number>();
  for (const line of over.split("\n")) left.set(line, (left.get(line) ?? 0) + 1);
  return of.split("\n").filter((line) => {
    const times = left.get(line) ?? 0;
    left.set(line, times - 1);
    return times <= 0 && line.trim() !== "";
  });
}
