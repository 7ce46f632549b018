import type { AgentId, Entry, Fact, NewFact, StoredEntry } from "../protocol/index.ts";
import type { HolderAddress } from "./home/home.ts";

/**
 * The store as the rest of the program sees it: one home, one writer, plain files.
 *
 * STORE-1. `append` resolves only when everything in it is on disk; all of it or nothing, over all its streams.
 * STORE-2. Appends to a stream take effect in the order they were called in.
 * STORE-3. A follower sees only what is on disk, each record once, in order, without a gap between history and live.
 * STORE-4. With `expect`, an append whose stream has moved on is refused (FenceError) and changes nothing.
 * STORE-5. After a failed write or sync nothing is acknowledged any more until the home is opened again
 *     (ReadOnlyError).
 */
export interface Store {
  readonly root: string;
  /** What opening found damaged, and where it was set aside. */
  readonly repairs: readonly Repair[];
  agents(): Promise<AgentId[]>;
  /** Makes the agent's folder. Opening an agent that is not there rejects with NotFoundError. */
  create(id: AgentId): Promise<AgentLog>;
  open(id: AgentId): Promise<AgentLog>;
  /** Where this process can be reached, for other processes that find the home locked (`readHolder`). */
  announce(address: HolderAddress): void;
  /** Why the last append of anybody was refused (DiskFullError, ReadOnlyError), until one is recorded. */
  readonly writeError: Error | undefined;
  /** Called when `writeError` begins and when it ends; one listener at a time. Returns the unsubscribe. */
  onWriteError(listener: (writeError: Error | undefined) => void): () => void;
  /** Bytes that are free where the home lies. */
  room(): number;
  close(): Promise<void>;
}

export interface AgentLog {
  readonly id: AgentId;
  /** The folder of this agent. */
  readonly dir: string;
  /** The number of the newest fact that was appended (perhaps not on disk yet). */
  readonly seq: number;
  /**
   * Facts go to `events.jsonl`, entries to the conversation file named (relative to the agent's folder). They get
   * their `seq` and `ts` at once, in call order. Returns the numbered facts synchronously and a promise for the disk.
   * Throws FenceError or ReadOnlyError at once, before anything is numbered. When `durable` rejects (DiskFullError,
   * ReadOnlyError), so does everything appended since: their numbers are void and will be given out again.
   */
  append(batch: Batch): Appended;
  /** The facts from `after` + 1 on: first history, then live. Ends when the signal fires. */
  follow(after: number, signal: AbortSignal): AsyncIterable<Fact>;
  /**
   * Called with each fact, in order, once it is on disk. For folds in this process. Returns the unsubscribe. Most facts
   * are about turns (`model.…`, `tool.…`): who has no use for them need not be called, and a team has many such.
   */
  subscribe(listener: (fact: Fact) => void, of?: "all" | "all but turns"): () => void;
  /** A page of history. */
  read(range: { after: number; limit: number }): Promise<Fact[]>;
  conversation(file: string): Promise<StoredEntry[]>;
  /** The last `limit` entries before a number, or of all; `from` is where they begin, also where one was damaged. */
  entriesBefore(file: string, limit: number, before?: number): Promise<{ from: number; entries: StoredEntry[] }>;
  /** The disposable snapshot of a fold, if there is one of this version. */
  snapshot<T>(name: string, version: number): Promise<{ seq: number; state: T } | undefined>;
  /** How many bytes have to be read to bring the snapshot up to date, or to fold everything where there is none. */
  bytesToRead(name: string, version: number): number;
  saveSnapshot(name: string, version: number, seq: number, state: unknown): Promise<void>;
  /** Lets go of an idle agent, once everything appended is on disk. Opening it again is cheap. */
  close(): Promise<void>;
}

/** What is said in one conversation. */
export interface ConversationEntries {
  file: string;
  entries: readonly Entry[];
}

export interface Batch {
  facts?: readonly NewFact[];
  entries?: ConversationEntries;
  /** Where it is said in more than one conversation: in the others. */
  otherEntries?: readonly ConversationEntries[];
  /** The fence: the newest fact the caller has seen. */
  expect?: number;
}

export interface Appended {
  readonly facts: readonly Fact[];
  readonly durable: Promise<void>;
}

export interface Repair {
  /** Relative to the home. */
  file: string;
  what: string;
  /** Where the damaged bytes are kept, relative to the home. */
  aside: string | null;
}
