import { writeSync } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { oneAtATime } from "../boundary/one-at-a-time.ts";
import type { AgentId, Fact } from "../protocol/index.ts";
import { openStore } from "../store/open-store.ts";
import { agentDir } from "../store/paths.ts";
import type { AgentLog } from "../store/store.ts";
import type { Database } from "./database.ts";
import { exportStream } from "./export-tree.ts";
import type { HostNotices } from "./host-notices.ts";
import { streamsOf } from "./streams.ts";

export interface TreeWatchPorts {
  database: Database;
  notices: HostNotices;
  root: string;
  clock: { now(): number };
  signal: AbortSignal;
}

/** An agent of another host, as it is seen from here. */
export interface WatchedTree {
  log: AgentLog;
  /** Fires when it is not watched any more, because this host has it now. */
  ended: AbortSignal;
  /** One who has watched does not any more. */
  leave(): void;
}

/** Beneath the notices. */
const LOOK_MS = 1000;
/** So many pieces are read at once. */
const PIECES = 64;

/**
 * Agents of other hosts whose record is followed here: in the working copy of this host, which grows as the engine's
 * streams do.
 *
 * WATCH-1. Facts are told once each, in order, after the words that belong to them are there.
 * WATCH-2. Nothing is written there any more once this host is about to have the agent itself.
 * WATCH-3. Whoever watches the same agent shares one copy; what nobody watches costs nothing.
 */
export class WatchedTrees {
  readonly #ports: TreeWatchPorts;
  readonly #watched = new Map<AgentId, Promise<SharedWatch>>();

  constructor(ports: TreeWatchPorts) {
    this.#ports = ports;
  }

  async watch(id: AgentId): Promise<WatchedTree> {
    const opening = this.#watched.get(id) ?? this.#open(id);
    this.#watched.set(id, opening);
    opening.catch(() => this.#watched.delete(id));
    const shared = await opening;
    shared.watchers++;
    let hasLeft = false;
    return {
      log: shared.log,
      ended: shared.end.signal,
      leave: () => {
        if (!hasLeft && --shared.watchers === 0) this.#end(id, shared);
        hasLeft = true;
      },
    };
  }

  /** WATCH-2. */
  async endFor(id: AgentId): Promise<void> {
    const shared = await this.#watched.get(id)?.catch(() => undefined);
    if (shared) this.#end(id, shared);
    await shared?.ended;
    await this.withoutWriting(id, async () => {});
  }

  /** While nothing of it is written here. */
  withoutWriting<T>(id: AgentId, work: () => Promise<T>): Promise<T> {
    return oneAtATime(writing(agentDir(this.#ports.root, id)), work);
  }

  #end(id: AgentId, shared: SharedWatch): void {
    shared.end.abort();
    this.#watched.delete(id);
  }

  async #open(id: AgentId): Promise<SharedWatch> {
    const { database, root, clock, signal } = this.#ports;
    const end = new AbortController();
    const ended = AbortSignal.any([signal, end.signal]);
    const copy = new StreamCopy(database, root, id);
    await this.withoutWriting(id, () => copy.begin());
    const store = await openStore({ root, clock, readOnly: true });
    const stored = await store.open(id);
    const listeners = new Set<(fact: Fact) => void>();
    let seq = stored.seq;
    const tell = async () => {
      for (let facts: Fact[] = []; ; ) {
        facts = await stored.read({ after: seq, limit: PIECES });
        for (const fact of facts) {
          seq = fact.seq;
          for (const listener of [...listeners]) listener(fact);
        }
        if (facts.length < PIECES) return;
      }
    };
    const log = watchedLog(stored, () => seq, listeners);
    return { log, end, watchers: 0, ended: this.#follow(id, copy, tell, ended) };
  }

  async #follow(id: AgentId, copy: StreamCopy, tell: () => Promise<void>, signal: AbortSignal): Promise<void> {
    using ear = this.#ports.notices.ear(factWords(id));
    while (!signal.aborted) {
      // An engine that is away is asked again.
      await copy.grow().then(tell, () => {});
      await ear.heard(LOOK_MS, signal);
    }
  }
}

/** What is said when facts of an agent are in the engine. */
export const factWords = (id: AgentId): string => `facts ${id}`;

interface SharedWatch {
  log: AgentLog;
  end: AbortController;
  watchers: number;
  ended: Promise<void>;
}

/** The same log, of which others tell what is new. */
function watchedLog(stored: AgentLog, seq: () => number, listeners: Set<(fact: Fact) => void>): AgentLog {
  return {
    id: stored.id,
    dir: stored.dir,
    get seq() {
      return seq();
    },
    append: (batch) => stored.append(batch), // refused: it was opened to look
    follow: (after, signal) => stored.follow(after, signal),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    read: (range) => stored.read(range),
    conversation: (file) => stored.conversation(file),
    entriesBefore: (file, limit, before) => stored.entriesBefore(file, limit, before),
    snapshot: async () => undefined,
    bytesToRead: (name, version) => stored.bytesToRead(name, version),
    saveSnapshot: async () => {},
    close: () => stored.close(),
  };
}

const writing = (folder: string): string => `${folder} is written`;

/** The streams of a tree in the working copy, as long as another host adds to them. */
class StreamCopy {
  readonly #database: Database;
  readonly #tree: string;
  readonly #folder: string;
  readonly #ends = new Map<string, number>();

  constructor(database: Database, root: string, id: AgentId) {
    this.#database = database;
    this.#tree = `agents/${id}`;
    this.#folder = agentDir(root, id);
  }

  /** Compared by hashes, as whatever was left there may be behind, ahead or damaged. */
  async begin(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    for (const path of (await streamsOf(this.#database, this.#tree)).keys()) {
      const to = join(this.#folder, path);
      await exportStream(this.#database, this.#tree, path, to);
      await using file = await open(to, "r");
      this.#ends.set(path, (await file.stat()).size);
    }
  }

  async grow(): Promise<void> {
    await oneAtATime(writing(this.#folder), async () => {
      for (let rows: Piece[] = []; ; ) {
        rows = pieceRows.parse(
          await this.#database.query(
            `select chunks.path, at, bytes from streams
             left join unnest($2::text[], $3::bigint[]) as known (path, size) on known.path = streams.path
             join chunks on chunks.tree = streams.tree and chunks.path = streams.path and at >= coalesce(known.size, 0)
             where streams.tree = $1 and streams.size > coalesce(known.size, 0)
             order by chunks.path = 'events.jsonl', chunks.path, at limit ${PIECES}`,
            [this.#tree, [...this.#ends.keys()], [...this.#ends.values()]],
          ),
        );
        for (const piece of rows) await this.#write(piece);
        if (rows.length < PIECES) return;
      }
    });
  }

  async #write({ path, at, bytes }: Piece): Promise<void> {
    const end = this.#ends.get(path) ?? 0;
    if (at !== end) throw new Error(`${this.#tree}: ${path} does not go on at ${end}`);
    const to = join(this.#folder, path);
    await mkdir(dirname(to), { recursive: true, mode: 0o700 });
    await using file = await open(to, end === 0 ? "w" : "r+", 0o600);
    writeSync(file.fd, bytes, 0, bytes.length, at);
    this.#ends.set(path, at + bytes.length);
  }
}

/** Nothing leads out of the tree. */
const pathSchema = z
  .string()
  .regex(/^[\w.-]+(?:\/[\w.-]+)*\.jsonl$/)
  .refine((path) => !/(?:^|\/)\.{1,2}(?:\/|$)/.test(path));
const pieceRows = z.array(
  z.object({ path: pathSchema, at: z.coerce.number().int().nonnegative(), bytes: z.instanceof(Buffer) }),
);
type Piece = z.infer<typeof pieceRows>[number];
