import { z } from "zod";
import { innermost, issueWords } from "../../boundary/schema-words.ts";
import { agentIdSchema } from "../../protocol/index.ts";
import { wordsSchema } from "../../protocol/words.ts";
import { DELIVERY_HEADER, isSignedWith, SIGNATURE_HEADER, TIMESTAMP_HEADER } from "./signature.ts";

/**
 * Parses what comes in by a webhook: an answer, or a message. Pure, apart from the memory that is passed in.
 *
 * RECEIVE-WEBHOOK-1. A body is not parsed before its signature has been verified, in constant time.
 * RECEIVE-WEBHOOK-2. A signature more than five minutes old, or in the future, is refused; so is one from before the memory
 *     began: it might be a replay of what an earlier process accepted.
 * RECEIVE-WEBHOOK-3. The same signature is accepted once, and so is a delivery id within one channel: two senders may use the
 *     same numbers.
 */
export function receiveWebhook(
  body: Buffer,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  { channel, secret, now, memory }: { channel: string; secret: string; now: number; memory: ReceivedIds },
): AcceptedWords | RefusedWords {
  const timestamp = one(headers[TIMESTAMP_HEADER]);
  const signature = one(headers[SIGNATURE_HEADER]);
  if (!TIMESTAMP.test(timestamp) || !isSignedWith(secret, timestamp, body, signature))
    return refused(401, "bad_signature", "The signature is missing or wrong.");
  const signed = Number(timestamp) * 1000;
  if (Math.abs(now - signed) > WINDOW_MS || signed < memory.since)
    return refused(
      401,
      "too_old",
      "The signature is too old, or the two clocks differ. Check the clock, then sign it again.",
    );
  const problem = memory.note(signature, now);
  if (problem) return problem;
  const given = one(headers[DELIVERY_HEADER]).slice(0, 200);
  const delivery = given && `${channel}/${given}`;
  if (delivery && memory.knows(delivery, now))
    return refused(409, "already_received", "This delivery was already received.");
  const parsed = receivedWordsSchema.safeParse(parsedJson(body));
  if (!parsed.success) return refused(400, "bad_request", problemsOf(parsed.error));
  return { status: 200, words: parsed.data, taken: () => delivery && memory.note(delivery, now) };
}

export interface AcceptedWords {
  status: 200;
  words: ReceivedWords;
  /** To be called when the words are on record: from then on the same delivery is refused. */
  taken(): void;
}

export interface RefusedWords {
  status: 400 | 401 | 409 | 429;
  code: string;
  message: string;
}

const WINDOW_MS = 5 * 60_000;
const TIMESTAMP = /^\d{9,11}(\.\d{1,6})?$/;
/** An answer to a question, or a message. */
export const receivedWordsSchema = z.union([
  z.strictObject({
    agent_id: agentIdSchema,
    question_id: z.string().min(1).max(60),
    response: wordsSchema,
  }),
  z.strictObject({
    agent_id: agentIdSchema,
    message: wordsSchema,
    to: z.string().min(1).max(60).optional(),
  }),
]);
export type ReceivedWords = z.infer<typeof receivedWordsSchema>;
/** The same, as other people's code writes it. */
export type IncomingWords =
  | { agent_id: string; question_id: string; response: string }
  | { agent_id: string; message: string; to?: string };

/**
 * What was accepted recently by all listeners of a home: what one of them accepted is refused by the others. Only
 * correctly signed messages get in, so a stranger cannot fill it.
 */
export class ReceivedIds {
  /** Milliseconds; what was signed before is not known here. */
  readonly since: number;
  readonly #seen = new Map<string, number>();
  readonly #most: number;

  readonly #keep: (received: { id: string; at: number }) => void;

  /** `kept` is what an earlier process took; `keep` is called for each that this one takes, before it counts. */
  constructor(since: number, { most = 20_000, kept = [], keep = () => {} }: MemoryOptions = {}) {
    this.since = since;
    this.#most = most;
    this.#keep = keep;
    for (const { id, at } of kept) this.#seen.set(id, at);
  }

  knows(id: string, now: number): boolean {
    this.#forget(now);
    return this.#seen.has(id);
  }

  /** Refuses what it has seen, and more than it can remember: forgetting early would let a replay in. */
  note(id: string, now: number): RefusedWords | undefined {
    if (this.knows(id, now))
      return refused(409, "already_received", "This was already received. To send it again, sign it again.");
    if (this.#seen.size >= this.#most)
      return refused(429, "too_many", "Too many requests. Try again in a few minutes.");
    this.#keep({ id, at: now });
    this.#seen.set(id, now);
    return undefined;
  }

  /** Noted in order of time: the oldest are first. What was signed ahead is good for twice the window. */
  #forget(now: number): void {
    for (const [id, at] of this.#seen) {
      if (now - at <= REMEMBERED_MS) return;
      this.#seen.delete(id);
    }
  }
}

export interface MemoryOptions {
  most?: number;
  kept?: readonly { id: string; at: number }[];
  keep?(received: { id: string; at: number }): void;
}

/** As long as a message that was signed ahead of our clock can be accepted. */
export const REMEMBERED_MS = 2 * WINDOW_MS;

function refused(status: RefusedWords["status"], code: string, message: string): RefusedWords {
  return { status, code, message };
}

function one(header: string | string[] | undefined): string {
  return typeof header === "string" ? header : "";
}

function parsedJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

const WANTED = "Expected {agent_id, question_id, response} or {agent_id, message, to?} as JSON.";

export function problemsOf({ issues }: z.ZodError): string {
  const lines = innermost(issues).map((issue) => `${issue.path.join(".") || "the body"}: ${issueWords(issue)}`);
  return `${lines.join("; ")}. ${WANTED}`;
}
