import { z } from "zod";
import { outcomeSchema } from "./outcome.ts";
import { usageSchema } from "./usage.ts";

/**
 * An entry is one line of a conversation (`conversation.jsonl`). A conversation only grows; a summary hides what came
 * before it. `meta` is what the provider wants returned unchanged (signatures, encrypted results).
 */
const metaSchema = z.record(z.string(), z.unknown());

export const partSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string(), meta: metaSchema.optional() }),
  z.object({ type: z.literal("reasoning"), text: z.string(), meta: metaSchema.optional() }),
  z.object({
    type: z.literal("call"),
    id: z.string(),
    name: z.string(),
    /** Parsed arguments; a string when the model sent something that is not JSON. */
    args: z.unknown(),
    meta: metaSchema.optional(),
  }),
  /** Something the provider did and understands by itself (its own web search, its results, a citation). */
  z.object({ type: z.literal("native"), part: z.record(z.string(), z.unknown()) }),
]);
export type Part = z.infer<typeof partSchema>;
export type CallPart = Extract<Part, { type: "call" }>;

const systemEntry = z.object({
  role: z.literal("system"),
  content: z.string(),
  /** Present where work is taken up again after other work: what follows is about this node. */
  node_id: z.string().optional(),
});

const userEntry = z.object({
  role: z.literal("user"),
  /** Who speaks: `human`, `coordinator`, a worker's id, or `agiraph` for the harness itself. */
  from: z.string(),
  content: z.string(),
  /** News up to and including this fact has now been told. The reader's mailbox cursor, kept where it cannot get lost. */
  upto: z.int().nonnegative().optional(),
  /** The messages told here: each is received when this entry is on disk. */
  messages: z.array(z.string()).optional(),
  /** Told to somebody who waited: up to the same fact it has been told what its colleagues ended. */
  colleagues: z.literal(true).optional(),
  /** The word after a try that failed: from here on it is another try. */
  again: z.literal(true).optional(),
  /** Nothing but a heartbeat: with an answer that there is nothing to do, it is not shown again. */
  beat: z.literal(true).optional(),
  /** Nothing but a cycle that begins: where nothing was done in it, it is not shown again. */
  cycle: z.literal(true).optional(),
  /** What of the memory the reader has been shown by now: the hash of each file. */
  memory: z.record(z.string(), z.string()).optional(),
  /** Present on the first entry of an assignment. */
  node_id: z.string().optional(),
  run_id: z.string().optional(),
  /** Of a node that was begun before, by them or by somebody else: the fact by which they have it now, with turns of its own. */
  assigned: z.int().positive().optional(),
  /** A compaction begins: from here to its summary the reader writes down what must not be lost. */
  flush: z.literal(true).optional(),
});

const replyEntry = z.object({
  role: z.literal("assistant"),
  content: z.array(partSchema),
  model: z.string(),
  usage: usageSchema,
  cost_usd: z.number().nullable(),
  /** Why the model stopped: stop, tool-calls, length, content-filter, error, other. */
  finish: z.string(),
});

/** A picture that a model was shown, stored by its hash in the agent's `pictures/`. */
export const pictureSchema = z.object({
  media_type: z.string().regex(/^image\/[a-z]+$/),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.int().nonnegative(),
});
export type Picture = z.infer<typeof pictureSchema>;

const resultEntry = z.object({
  role: z.literal("tool"),
  call_id: z.string(),
  tool: z.string(),
  content: z.string(),
  ok: z.boolean(),
  /** Kept in the record, so that a crash right after `finish` or `publish` is not a lost ending. */
  ending: outcomeSchema.optional(),
  picture: pictureSchema.optional(),
});

const summaryEntry = z.object({
  role: z.literal("summary"),
  content: z.string(),
  /** How many of the entries shown before the flush are still shown, after this one. The others are hidden by it. */
  kept: z.int().nonnegative().optional(),
  hidden: z.int().nonnegative().optional(),
  /** About how large the request was, and is now. */
  tokens: z.object({ before: z.int().nonnegative(), after: z.int().nonnegative() }).optional(),
});

export const entrySchema = z.discriminatedUnion("role", [
  systemEntry,
  userEntry,
  replyEntry,
  resultEntry,
  summaryEntry,
]);
export type Entry = z.infer<typeof entrySchema>;
export type SystemEntry = z.infer<typeof systemEntry>;
export type UserEntry = z.infer<typeof userEntry>;
export type ReplyEntry = z.infer<typeof replyEntry>;
export type ResultEntry = z.infer<typeof resultEntry>;
export type SummaryEntry = z.infer<typeof summaryEntry>;

/** An entry as stored in its file: numbered 1, 2, 3 … and dated. */
export type StoredEntry = Entry & { seq: number; ts: number };

const numbered = { seq: z.int().positive(), ts: z.number() };
export const storedEntrySchema = z.discriminatedUnion("role", [
  systemEntry.extend(numbered),
  userEntry.extend(numbered),
  replyEntry.extend(numbered),
  resultEntry.extend(numbered),
  summaryEntry.extend(numbered),
]);

export function callsOf(reply: ReplyEntry): CallPart[] {
  return reply.content.filter((part) => part.type === "call");
}

export function textOf(reply: ReplyEntry): string {
  return reply.content
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join("");
}
