import { useCallback, useSyncExternalStore } from "react";
import { callsOf, type StoredEntry, textOf } from "../../../src/protocol/index.ts";
import { Listeners } from "./animation-frame.ts";
import { entriesOf } from "./api.ts";

export interface CallDetail {
  args: unknown;
  result: string | null;
}

/**
 * What one worker said and did in full, as far as it was requested. A reply and the facts about it are one append with
 * one time, which is how they are matched.
 */
export class EntryBook {
  readonly words = new Map<number, string>();
  readonly calls = new Map<string, CallDetail>();
  readonly #agent: string;
  readonly #worker: string;
  readonly #listeners = new Listeners();
  #oldest: StoredEntry | undefined;
  #newest: StoredEntry | undefined;
  #wanted = Number.POSITIVE_INFINITY;
  #latest = 0;
  #isReading = false;
  #wishes = 0;

  constructor(agent: string, worker: string) {
    this.#agent = agent;
    this.#worker = worker;
  }

  /** Changes with everything that is read from here. */
  get version(): number {
    return this.#listeners.version;
  }

  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Words that were streamed, until the record is read. */
  put(ts: number, text: string): void {
    if (!this.words.has(ts)) this.words.set(ts, text);
  }

  /** Sees to it that what was written at this time is at hand. */
  want(ts: number): void {
    this.#wanted = Math.min(this.#wanted, ts);
    this.#latest = Math.max(this.#latest, ts);
    this.#wishes += 1;
    if (!this.#isReading) void this.#read();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      let granted: number;
      do {
        granted = this.#wishes;
        if (!this.#newest || this.#newest.ts < this.#latest) await this.#readNewest();
        while (this.#oldest && this.#oldest.ts >= this.#wanted && this.#oldest.seq > 1)
          if ((await this.#page(this.#oldest.seq)).length === 0) break;
        // What was wished for meanwhile may have been written after it was read.
      } while (granted !== this.#wishes);
    } catch {
      // The stream shows what the facts tell; the next look tries again.
    } finally {
      this.#isReading = false;
    }
  }

  /** Backwards until it meets what is known. */
  async #readNewest(): Promise<void> {
    const known = this.#newest?.seq ?? 0;
    let first: StoredEntry | undefined;
    do first = (await this.#page(first?.seq))[0];
    while (first && known > 0 && first.seq > known + 1);
  }

  async #page(before: number | undefined): Promise<StoredEntry[]> {
    const entries = await entriesOf(this.#agent, this.#worker, before);
    for (const entry of entries) this.#note(entry);
    this.#listeners.changed();
    return entries;
  }

  #note(entry: StoredEntry): void {
    if (!this.#oldest || entry.seq < this.#oldest.seq) this.#oldest = entry;
    if (!this.#newest || entry.seq > this.#newest.seq) this.#newest = entry;
    if (entry.role === "assistant") {
      this.words.set(entry.ts, textOf(entry).trim());
      for (const { id, args } of callsOf(entry)) {
        this.calls.set(id, { args, result: this.calls.get(id)?.result ?? null });
      }
    }
    if (entry.role === "tool") {
      const call = this.calls.get(entry.call_id);
      this.calls.set(entry.call_id, { args: call?.args, result: entry.content });
    }
  }
}

const books = new Map<string, EntryBook>();

export function entryBook(agent: string, worker: string): EntryBook {
  const key = `${agent} ${worker}`;
  const book = books.get(key) ?? new EntryBook(agent, worker);
  books.set(key, book);
  return book;
}

/** Its log was replaced. */
export function forgetBooks(agent: string): void {
  for (const key of books.keys()) if (key.startsWith(`${agent} `)) books.delete(key);
}

export function useEntryBook(agent: string, worker: string): EntryBook {
  const book = entryBook(agent, worker);
  const subscribe = useCallback((listener: () => void) => book.subscribe(listener), [book]);
  useSyncExternalStore(subscribe, () => book.version);
  return book;
}
