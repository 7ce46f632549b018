import { setTimeout } from "node:timers/promises";
import type { Roster } from "../../projections/index.ts";
import { COORDINATOR, type Fact, type FactOf, type RunId, type StoredEntry, textOf } from "../../protocol/index.ts";
import { conversationFile } from "../../store/paths.ts";
import type { AgentLog } from "../../store/store.ts";
import type { Delta } from "../../workers/loop/recorded-loop.ts";

type Reply = FactOf<"model.responded">;
interface Words {
  /** The number of the entry. */
  entry: number;
  text: string;
}

/**
 * What a team in another process says, each word once and before the fact that ends its reply. Facts are read from the
 * log's file and streamed words come by a socket that opens when it opens, so neither waits for the other by itself.
 *
 * Words are streamed only where their turn was heard from its beginning. The rest of a reply, or all of it, is taken
 * from the speaker's conversation when the reply is on disk.
 */
export class ServedWords {
  readonly #log: Pick<AgentLog, "entriesBefore">;
  readonly #roster: () => Roster;
  readonly #runs = new Map<string, RunId>();
  /** What the conversations have for replies that are not shown yet, by the fact's number. */
  readonly #read = new Map<number, Words[]>();
  readonly #speakers = new Map<string, { since: number; entry: number; streamed: string }>();
  /** Streamed words that are ahead of the facts. */
  readonly #ahead: { delta: Delta; after: number }[] = [];
  /** The newest fact at the first streamed word: from here on none is missed. */
  #heardSince: number | undefined;
  #shown = 0;
  #listener: (delta: Delta) => void = () => {};

  constructor(log: Pick<AgentLog, "entriesBefore">, roster: () => Roster) {
    this.#log = log;
    this.#roster = roster;
  }

  set listener(listener: (delta: Delta) => void) {
    this.#listener = listener;
  }

  /** Before a fact is handed on: what was said with it. */
  async prepare(fact: Fact): Promise<void> {
    if (fact.type === "worker.spawned") this.#runs.set(fact.data.worker_id, fact.data.run_id);
    if (fact.type === "model.responded" && fact.seq > this.#shown && !this.#read.has(fact.seq))
      this.#read.set(fact.seq, await this.#wordsOf(fact));
  }

  /** A streamed word, said after this fact. */
  hear(delta: Delta, after: number): void {
    this.#heardSince ??= after;
    this.#ahead.push({ delta, after });
    this.#catchUp(this.#shown);
  }

  /** This fact is shown next. */
  meet(fact: Fact): void {
    this.#catchUp(fact.seq - 1);
    this.#shown = fact.seq;
    if (fact.type === "worker.spawned") this.#speaker(fact.data.worker_id).since = fact.seq;
    if (fact.type === "model.responded") this.#finish(fact);
    // Nothing of it is used: the next try says it all again.
    if (fact.type === "model.failed") this.#speaker(fact.data.worker_id).streamed = "";
    // Once it is shown: nothing else may come for a long time.
    if (this.#ahead.length > 0) queueMicrotask(() => this.#catchUp(this.#shown));
  }

  #catchUp(seq: number): void {
    for (let first = this.#ahead[0]; first !== undefined && first.after <= seq; first = this.#ahead[0]) {
      this.#ahead.shift();
      const speaker = this.#speaker(first.delta.worker_id);
      const isLate = speaker.since > first.after;
      if (isLate || speaker.since <= (this.#heardSince ?? 0)) continue;
      if (first.delta.kind === "text") speaker.streamed += first.delta.text;
      this.#listener(first.delta);
    }
  }

  #finish({ seq, data: { worker_id, node_id } }: Reply): void {
    const speaker = this.#speaker(worker_id);
    const { streamed } = speaker;
    const words = this.#read.get(seq)?.find(({ entry }) => entry > speaker.entry);
    this.#read.delete(seq);
    speaker.since = seq;
    speaker.streamed = "";
    if (words === undefined) return;
    speaker.entry = words.entry;
    const text = unsaid(words.text, streamed);
    if (text !== "") this.#listener({ worker_id, node_id, kind: "text", text });
  }

  #speaker(id: string) {
    const known = this.#speakers.get(id) ?? { since: 0, entry: 0, streamed: "" };
    this.#speakers.set(id, known);
    return known;
  }

  /** A reply and its fact are one append: they bear the same time. */
  async #wordsOf({ data: { worker_id }, ts }: Reply): Promise<Words[]> {
    const run = this.#runs.get(worker_id) ?? this.#roster()[worker_id]?.spawned.run_id;
    if (run === undefined && worker_id !== COORDINATOR) return [];
    const file = conversationFile(run ?? "run-1", worker_id);
    for (let tries = 0; tries < TRIES; tries++) {
      const words = (await this.#entriesAt(file, ts)).flatMap((entry) =>
        entry.role === "assistant" ? [{ entry: entry.seq, text: textOf(entry) }] : [],
      );
      if (words.length > 0) return words;
      // The conversation is written right after the log.
      await setTimeout(AGAIN_MS);
    }
    return [];
  }

  async #entriesAt(file: string, ts: number): Promise<StoredEntry[]> {
    for (let limit = PAGE; ; limit *= 4) {
      const { from, entries } = await this.#log.entriesBefore(file, limit).catch(() => ({ from: 1, entries: [] }));
      if (from > 1 && (entries[0]?.ts ?? 0) >= ts) continue;
      return entries.filter((entry) => entry.ts === ts);
    }
  }
}

const TRIES = 4;
const AGAIN_MS = 10;
const PAGE = 32;

/** What of a reply is still to be said. Where words were missed in the middle, all of it, on a line of its own. */
function unsaid(text: string, streamed: string): string {
  if (text.startsWith(streamed)) return text.slice(streamed.length);
  return streamed.endsWith(text) ? "" : `\n${text}`;
}
