import { createHash } from "node:crypto";
import { z } from "zod";

/**
 * What a program writes to `_outbox.md`: a line `TO: name`, the words, a line `---`; or `SUGGEST:` and the suggestion.
 *
 * OUTBOX-FILE-1. An entry is taken once and whole, however the file grows, and in the order of the file. The last one
 *     waits for its `---`.
 * OUTBOX-FILE-2. Who it is from is not for the program to say: a line `FROM:` is dropped.
 * OUTBOX-FILE-3. A file that was written anew is believed once it has `paused`; entries that were in it before are not
 *     taken again.
 * OUTBOX-FILE-4. A program that writes without end costs a bounded time and is heard up to `MAX_ENTRIES`.
 * OUTBOX-FILE-5. The same entry at the same place has the same id, whatever was forgotten in between.
 */
export function takeEntries(content: Buffer, state: OutboxState, how: WritingState): OutboxReading {
  const isGrown = content.length >= state.bytes && sha(content.subarray(0, state.bytes)) === state.sha;
  if (!isGrown && how === "growing") return { taken: [], state, isFull: false };
  const from = isGrown ? state.bytes : 0;
  const before = isGrown ? {} : { ...state.in_file };
  const inFile: Counts = isGrown ? { ...state.in_file } : {};
  const ever: Counts = { ...state.ever };
  const taken: TakenEntry[] = [];
  // Told on as it grows: hashing all of the file for each entry would let a long file hold up everybody.
  const hash = createHash("sha256").update(content.subarray(0, from));
  let hashed = from;
  const upTo = (end: number): OutboxState => {
    hash.update(content.subarray(hashed, end));
    hashed = end;
    return { bytes: end, sha: hash.copy().digest("hex"), in_file: { ...inFile }, ever: { ...ever } };
  };
  let left = MAX_ENTRIES - Object.values(ever).reduce((sum, count) => sum + count, 0);
  let upto = from;
  for (const { entry, end } of entriesIn(content.subarray(from), how)) {
    upto = from + end;
    if (!entry) continue;
    const key = sha(Buffer.from(JSON.stringify(entry))).slice(0, 16);
    const known = before[key] ?? 0;
    if (known === 0 && left-- <= 0) return { taken, state: upTo(content.length), isFull: true };
    inFile[key] = (inFile[key] ?? 0) + 1;
    if (known > 0) {
      before[key] = known - 1;
      continue;
    }
    const nth = ever[key] ?? 0;
    ever[key] = nth + 1;
    taken.push({ id: `outbox-${key}-${nth}`, entry, after: upTo(upto) });
  }
  return { taken, state: upTo(upto), isFull: false };
}

/** More than this nobody has to say in one piece of work; what follows is dropped. */
export const MAX_ENTRIES = 1000;

/** `growing`: it may be in the middle of writing. `paused`: it paused. `closed`: it has ended well and writes no more. */
export type WritingState = "growing" | "paused" | "closed";

export type OutboxEntry =
  | { kind: "message"; to: string; text: string }
  | { kind: "suggestion"; text: string }
  | { kind: "unclear"; text: string };

export interface OutboxReading {
  taken: TakenEntry[];
  state: OutboxState;
  /** It has said more than anybody may. */
  isFull: boolean;
}

export interface TakenEntry {
  id: string;
  entry: OutboxEntry;
  /** What is known once this entry is dealt with. */
  after: OutboxState;
}

const countsSchema = z.record(z.string(), z.int().nonnegative());
type Counts = z.infer<typeof countsSchema>;

export const outboxStateSchema = z.object({
  /** How much of the file has been taken, and its hash. */
  bytes: z.int().nonnegative(),
  sha: z.string(),
  /** Entries taken, by hash: those in the file as it stands, and all there ever were. */
  in_file: countsSchema,
  ever: countsSchema,
});
export type OutboxState = z.infer<typeof outboxStateSchema>;

export const EMPTY_OUTBOX: OutboxState = { bytes: 0, sha: sha(Buffer.alloc(0)), in_file: {}, ever: {} };

/** One after the other, so that who has heard enough reads no further. */
function* entriesIn(content: Buffer, how: WritingState): Generator<{ entry: OutboxEntry | undefined; end: number }> {
  let begin = 0;
  for (let at = content.indexOf(END); at >= 0; ) {
    const newline = content.indexOf(10, at);
    const isTorn = newline < 0;
    const end = isTorn ? content.length : newline + 1;
    const isLine = at === 0 || content[at - 1] === 10;
    if (
      isLine &&
      (!isTorn || how !== "growing") &&
      content.toString("utf8", at, Math.min(end, at + 8)).trimEnd() === END
    ) {
      yield { entry: entryOf(content.toString("utf8", begin, at)), end };
      begin = end;
    }
    at = isTorn ? -1 : content.indexOf(END, end);
  }
  if (how === "closed" && begin < content.length)
    yield { entry: entryOf(content.toString("utf8", begin)), end: content.length };
}

const END = "---";

function entryOf(text: string): OutboxEntry | undefined {
  const plain = text
    .replace(/^\uFEFF/, "")
    .replaceAll("\r\n", "\n")
    .trim();
  if (plain === "") return undefined;
  const [head = "", ...rest] = plain.replace(/^(FROM:.*\n)+/i, "").split("\n");
  const { name, value } = /^(?<name>TO|SUGGEST):(?<value>.*)$/i.exec(head)?.groups ?? {};
  const body = rest.join("\n").replace(/^(\s*\n)+|\s+$/g, "");
  if (name?.toUpperCase() === "SUGGEST") {
    const words = [value?.trim(), body].filter(Boolean).join("\n");
    return words === "" ? { kind: "unclear", text } : { kind: "suggestion", text: words };
  }
  const to = value?.trim() ?? "";
  const words = body.replace(/^(FROM:.*(\n|$))+/i, "");
  return to === "" || words === "" ? { kind: "unclear", text } : { kind: "message", to, text: words };
}

function sha(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
