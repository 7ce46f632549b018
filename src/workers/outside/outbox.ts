import { createHash } from "node:crypto";
import { z } from "zod";

/**
 * What a program writes to `_outbox.md`: a line `TO: name`, the words, a line `---`; or `SUGGEST:` and the suggestion.
 *
 * U1. An entry is taken once and whole, however the file grows, and in the order of the file. The last one waits for its `---`.
 * U2. Who it is from is not for the program to say: a line `FROM:` is dropped.
 * U3. A file that was written anew is believed once it has `settled`; entries that were in it before are not taken again.
 * U4. The same entry at the same place has the same id, whatever was forgotten in between.
 */
export function takeEntries(
  content: Buffer,
  state: OutboxState,
  how: Settling,
): { taken: Taken[]; state: OutboxState } {
  const isGrown = content.length >= state.bytes && sha(content.subarray(0, state.bytes)) === state.sha;
  if (!isGrown && how === "growing") return { taken: [], state };
  const from = isGrown ? state.bytes : 0;
  const { entries, bytes } = entriesIn(content.subarray(from), how);
  const before = isGrown ? {} : { ...state.in_file };
  const inFile: Counts = isGrown ? { ...state.in_file } : {};
  const ever: Counts = { ...state.ever };
  const taken: Taken[] = [];
  for (const { entry, end } of entries) {
    const key = sha(Buffer.from(JSON.stringify(entry))).slice(0, 16);
    inFile[key] = (inFile[key] ?? 0) + 1;
    const known = before[key] ?? 0;
    if (known > 0) {
      before[key] = known - 1;
      continue;
    }
    const nth = ever[key] ?? 0;
    ever[key] = nth + 1;
    const upto = from + end;
    const after = { bytes: upto, sha: sha(content.subarray(0, upto)), in_file: { ...inFile }, ever: { ...ever } };
    taken.push({ id: `outbox-${key}-${nth}`, entry, after });
  }
  const upto = from + bytes;
  return { taken, state: { bytes: upto, sha: sha(content.subarray(0, upto)), in_file: inFile, ever } };
}

/** `growing`: it may be in the middle of writing. `settled`: it paused. `closed`: it has ended well and writes no more. */
export type Settling = "growing" | "settled" | "closed";

export type OutboxEntry =
  | { kind: "message"; to: string; text: string }
  | { kind: "suggestion"; text: string }
  | { kind: "unclear"; text: string };

export interface Taken {
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

function entriesIn(content: Buffer, how: Settling): { entries: { entry: OutboxEntry; end: number }[]; bytes: number } {
  const entries: { entry: OutboxEntry; end: number }[] = [];
  let begin = 0;
  let at = 0;
  const take = (to: number, end: number) => {
    const entry = entryOf(content.subarray(begin, to).toString("utf8"));
    if (entry) entries.push({ entry, end });
    begin = end;
  };
  while (at < content.length) {
    const newline = content.indexOf(10, at);
    const isTorn = newline < 0;
    const end = isTorn ? content.length : newline + 1;
    const line = content.subarray(at, isTorn ? end : newline).toString("utf8");
    if (line.trimEnd() === "---" && (!isTorn || how !== "growing")) take(at, end);
    at = end;
  }
  if (how === "closed" && begin < content.length) take(content.length, content.length);
  return { entries, bytes: begin };
}

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
