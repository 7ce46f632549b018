import { join } from "node:path";
import type { AgentId, Fact, NewFact, StoredEntry } from "../../protocol/index.ts";
import { codeOf, type Disk, type DiskFile } from "../disk/disk.ts";
import { FenceError, ReadOnlyError, StoreUsageError } from "../errors.ts";
import { agentDir, EVENTS_FILE, streamPath } from "../paths.ts";
import type { AgentLog, Appended, Batch, ConversationEntries, Repair } from "../store.ts";
import type { Damage } from "./damage.ts";
import { followFacts } from "./follow.ts";
import { entryHead, factHead } from "./line.ts";
import { bytesToRead, factPosition, type LogSnapshotFile, loadLogSnapshot, saveLogSnapshot } from "./log-snapshot.ts";
import type { LogWriter } from "./log-writer.ts";
import type { OpenFiles } from "./open-files.ts";
import { type OnRecord, type Records, scanRecords } from "./record-scan.ts";
import { inspectTail, LogStream, seekSeq } from "./stream.ts";

/** What the logs of one home share. Without a journal (or an engine in its place) the home was opened read-only. */
export interface Shared {
  readonly disk: Disk;
  readonly root: string;
  readonly clock: { now(): number };
  readonly files: OpenFiles;
  readonly damage: Damage;
  readonly journal: LogWriter | undefined;
  /** Snapshots may be written although there is no journal. */
  readonly savesSnapshots: boolean;
}

/** One agent's facts and conversations. Facts are on disk, not in memory: an idle log costs a few hundred bytes. */
export class FileAgentLog implements AgentLog {
  readonly id: AgentId;
  readonly dir: string;
  readonly #shared: Shared;
  readonly #events: LogStream;
  readonly #conversations = new Map<string, LogStream>();
  readonly #listeners = new Set<(fact: Fact) => void>();
  /** Those who are not told about turns. */
  readonly #spared = new Set<(fact: Fact) => void>();
  readonly #onClose: () => void;
  /** Where the last page ended: the next one usually begins there. */
  #bookmark = { seq: 1, offset: 0 };
  #closed = false;

  private constructor(shared: Shared, id: AgentId, onClose: () => void) {
    this.#shared = shared;
    this.id = id;
    this.dir = agentDir(shared.root, id);
    this.#onClose = onClose;
    this.#events = this.#load(`agents/${id}/${EVENTS_FILE}`);
  }

  static async open(shared: Shared, id: AgentId, onClose: () => void): Promise<FileAgentLog> {
    const log = new FileAgentLog(shared, id, onClose);
    await shared.journal?.drained();
    return log;
  }

  get seq(): number {
    return this.#events.seq;
  }

  append(batch: Batch): Appended {
    const journal = this.#writable();
    const events = this.#events;
    if (batch.expect !== undefined && batch.expect !== events.seq)
      throw new FenceError(this.id, batch.expect, events.seq);
    const { facts: newFacts = [], entries, otherEntries = [] } = batch;
    const ts = Math.round(this.#shared.clock.now()) / 1000;

    // Everything is serialised before anything is numbered: what cannot be serialised must not leave a gap.
    const facts = newFacts.map((fact, index) => this.#numbered(fact, events.seq + index + 1, ts));
    const factHeads = facts.map(factHead);
    const said = (entries ? [entries, ...otherEntries] : otherEntries).map((each) => this.#serialised(each, ts));
    if (new Set(said.map(({ conversation }) => conversation)).size < said.length)
      throw new StoreUsageError("an append names a conversation twice");

    events.seq += factHeads.length;
    for (const head of factHeads) journal.queue(events, head);
    for (const { conversation, heads } of said) {
      conversation.seq += heads.length;
      for (const head of heads) journal.queue(conversation, head);
    }
    const durable = new Promise<void>((resolve, reject) => {
      journal.writeQueue({ facts, onDisk: () => this.#tell(facts), resolve, reject });
    });
    return { facts, durable };
  }

  #serialised({ file, entries }: ConversationEntries, ts: number) {
    const conversation = this.#conversation(file);
    const heads = entries.map((entry, index) => entryHead(conversation.seq + index + 1, ts, entry));
    return { conversation, heads };
  }

  follow(after: number, signal: AbortSignal): AsyncIterable<Fact> {
    const watch = this.#shared.journal === undefined ? this.#watch : undefined;
    return followFacts(this, () => this.#end().durableSeq, after, signal, watch);
  }

  subscribe(listener: (fact: Fact) => void, of: "all" | "all but turns" = "all"): () => void {
    const listeners = of === "all" ? this.#listeners : this.#spared;
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  async read({ after, limit }: { after: number; limit: number }): Promise<Fact[]> {
    const { path, size, durableSeq } = this.#end();
    const facts: Fact[] = [];
    if (after >= durableSeq || limit <= 0) return facts;
    return this.#reading(path, facts, async (file) => {
      const isBookmarked = this.#bookmark.seq === after + 1;
      const from = isBookmarked ? this.#bookmark.offset : seekSeq(file, size, after + 1);
      const take: OnRecord = (json, seq, end) => {
        if (seq <= after) return true;
        facts.push(json as Fact);
        this.#bookmark = { seq: seq + 1, offset: end };
        return facts.length < limit;
      };
      await this.#scan(file, path, { from, to: size }, take, isBookmarked ? after : undefined);
      return facts;
    });
  }

  async conversation(name: string): Promise<StoredEntry[]> {
    const { path, size } = this.#conversation(name);
    const entries: StoredEntry[] = [];
    return this.#reading(path, entries, async (file) => {
      await this.#scan(file, path, { from: 0, to: size }, (json) => entries.push(json as StoredEntry) > 0);
      return entries;
    });
  }

  async entriesBefore(name: string, limit: number, before = Number.POSITIVE_INFINITY) {
    const { path, size, durableSeq } = this.#conversation(name);
    const end = Math.min(before, durableSeq + 1);
    const from = Math.max(1, end - limit);
    const entries: StoredEntry[] = [];
    return this.#reading(path, { from, entries }, async (file) => {
      await this.#scan(file, path, { from: seekSeq(file, size, from), to: size }, (json, seq) => {
        if (seq >= from && seq < end) entries.push(json as StoredEntry);
        return seq < end - 1;
      });
      return { from, entries };
    });
  }

  async snapshot<T>(name: string, version: number): Promise<{ seq: number; state: T } | undefined> {
    const snapshot = loadLogSnapshot(this.#snapshot(name, version));
    if (snapshot === undefined) return undefined;
    const { position, state } = snapshot;
    const fits = position.seq === 0 || this.#positionOf(position.seq, position.offset)?.crc === position.crc;
    return fits ? { seq: position.seq, state: state as T } : undefined;
  }

  bytesToRead(name: string, version: number): number {
    return bytesToRead(this.#snapshot(name, version), this.#end().size);
  }

  async saveSnapshot(name: string, version: number, seq: number, state: unknown): Promise<void> {
    if (!this.#shared.savesSnapshots) {
      // A snapshot of facts that a crash could still take away would outlive them.
      if (seq > this.#events.durableSeq) await this.#writable().drained();
      this.#writable();
    }
    const position = seq === 0 ? { seq, offset: 0, crc: "" } : this.#positionOf(seq);
    if (position === undefined)
      throw new StoreUsageError(`${this.id} has no fact ${seq} on disk, so no snapshot can be taken there.`);
    saveLogSnapshot(this.#snapshot(name, version), position, state);
  }

  #snapshot(name: string, version: number): LogSnapshotFile {
    return { disk: this.#shared.disk, agentFolder: this.dir, name, version };
  }

  async close(): Promise<void> {
    await this.#shared.journal?.drained();
    this.#closed = true;
    for (const { path } of [this.#events, ...this.#conversations.values()]) this.#shared.files.close(path);
    this.#onClose();
  }

  #numbered(fact: NewFact, seq: number, ts: number): Fact {
    // Type and data come from one NewFact, which TypeScript cannot follow through a spread of a union.
    const { type, data, actor } = fact;
    return { seq, type, agent_id: this.id, ts, data, ...(actor && { actor }) } as Fact;
  }

  #writable(): LogWriter {
    const { journal, root } = this.#shared;
    if (journal === undefined) throw new ReadOnlyError(`The home ${root} is open read-only; nothing can be written.`);
    if (this.#closed) throw new StoreUsageError(`The log of ${this.id} was closed; open it again.`);
    if (journal.failure !== undefined) throw journal.failure;
    return journal;
  }

  #tell(facts: readonly Fact[]): void {
    for (const fact of facts) {
      tellAll(this.#listeners, fact);
      if (!fact.type.startsWith("model.") && !fact.type.startsWith("tool.")) tellAll(this.#spared, fact);
    }
  }

  #conversation(name: string): LogStream {
    const known = this.#conversations.get(name);
    if (known !== undefined && this.#shared.journal !== undefined) return known;
    const stream = this.#load(streamPath(this.id, name));
    this.#conversations.set(name, stream);
    return stream;
  }

  /** The facts' end; another process may have moved it when we only look. */
  #end(): LogStream {
    return this.#shared.journal === undefined ? this.#load(this.#events.path) : this.#events;
  }

  /** Finds the end of a stream; a torn one is set aside and cut, unless we only look. */
  #load(path: string): LogStream {
    const { disk, root, journal, files, damage } = this.#shared;
    const full = join(root, path);
    const size = disk.size(full);
    if (size === undefined || size === 0) return new LogStream(path, 0, 0);
    const file = disk.open(full, "read");
    try {
      const { seq, end, lostLines } = inspectTail(file, path, size);
      if (end === size || journal === undefined) return new LogStream(path, seq, end);
      const torn = Buffer.allocUnsafe(size - end);
      const count = file.readNow(torn, end);
      const repair = damage.setAside(
        path,
        end,
        torn.subarray(0, count),
        "the end was torn and was cut at the last whole record",
      );
      files.cut(path, end);
      // The numbers of whole lines that were lost were given out once and are not given out again.
      const stream = new LogStream(path, seq + lostLines, end);
      // What was cut is reported as torn; that its numbers are missing from now on is the same damage.
      if (lostLines > 0) damage.known(path, end, seq + 1, seq + lostLines);
      if (repair !== undefined) this.#record(repair, path.endsWith(EVENTS_FILE) ? stream : this.#events);
      return stream;
    } finally {
      file.close();
    }
  }

  /** Says in the log what was lost. */
  #record(repair: Repair, events: LogStream): void {
    const { journal, clock } = this.#shared;
    if (journal === undefined || journal.failure !== undefined) return;
    const fact = this.#numbered({ type: "log.repaired", data: repair }, ++events.seq, Math.round(clock.now()) / 1000);
    journal.queue(events, factHead(fact));
    journal.writeQueue({ facts: [fact], onDisk: () => this.#tell([fact]), resolve: () => {}, reject: () => {} });
  }

  async #reading<T>(path: string, none: T, use: (file: DiskFile) => Promise<T>): Promise<T> {
    let file: DiskFile;
    try {
      file = this.#shared.disk.open(join(this.#shared.root, path), "read");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return none;
      throw error;
    }
    try {
      return await use(file);
    } finally {
      file.close();
    }
  }

  /** `before` is the number of the record before the first one, where it is known. */
  #scan(
    file: DiskFile,
    path: string,
    range: Pick<Records, "from" | "to">,
    onRecord: OnRecord,
    before?: number,
  ): Promise<void> {
    const { damage } = this.#shared;
    const onRepair = (repair: Repair) => this.#record(repair, this.#events);
    return scanRecords({ file, path, ...range, damage, onRepair, before }, onRecord);
  }

  #positionOf(seq: number, offset?: number) {
    const { path, size, durableSeq } = this.#end();
    if (seq > durableSeq) return undefined;
    const file = this.#shared.disk.open(join(this.#shared.root, path), "read");
    try {
      return factPosition(file, size, seq, offset);
    } finally {
      file.close();
    }
  }

  readonly #watch = (onChange: () => void): (() => void) =>
    this.#shared.disk.watch(join(this.#shared.root, this.#events.path), onChange);
}

function tellAll(listeners: Iterable<(fact: Fact) => void>, fact: Fact): void {
  for (const listener of listeners) {
    try {
      listener(fact);
    } catch (error) {
      // A listener's bug must neither stop the write nor go unseen.
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}
