import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { type Disk, isDiskFull, isOutOfFiles } from "../disk/disk.ts";
import { DiskFullError, ReadOnlyError, TooManyFilesError } from "../errors.ts";
import { journalDir } from "../paths.ts";
import { FRAME_HEAD, FrameWriter } from "./frame.ts";
import { type JournalFile, roomAhead } from "./journal-file.ts";
import type { LogWriter, WriteWaiter } from "./log-writer.ts";
import type { OpenFiles } from "./open-files.ts";
import { journalName } from "./recovery.ts";
import type { LogStream } from "./stream.ts";

/**
 * The group write: everything that was appended meanwhile, by anyone and to any file, goes to disk in one write.
 *
 * JOURNAL-1. A write is one frame, written through; only then are its lines put into their plain files (unsynced), and
 *     only then is the append acknowledged. So after a crash the journal is level with or ahead of the files, never
 *     behind.
 * JOURNAL-2. One write at a time; the next begins after a turn of the event loop, so that callers that were just woken
 *     can join it.
 * JOURNAL-3. A failed write is rolled back: first the files, then the journal are truncated to the last write,
 *     everything waiting is refused, and numbers are reset. If there was no room, or no file could be opened, the next
 *     write may succeed; after any other failure nothing is acknowledged any more.
 * JOURNAL-5. What was refused does not exist after a restart. A frame that is on disk and cannot be rolled back is
 *     acknowledged: opening the home will write its lines to their files. Only if the journal itself cannot be
 *     truncated is the outcome unknown until then, and the error says so.
 * JOURNAL-4. A journal is removed only when the files it covers, and their names, are synced.
 */
export class Journal implements LogWriter {
  readonly #disk: Disk;
  readonly #root: string;
  readonly #files: OpenFiles;
  readonly #limit: number;
  readonly #isOurs: () => boolean;
  readonly #frame = new FrameWriter();
  #file: JournalFile | undefined;
  #number: number;
  #queue: JournalWrite = { streams: [], waiting: [] };
  #busy = false;
  #idle: (() => void)[] = [];
  #removal: Promise<void> | undefined;
  #failure: Error | undefined;
  /** The last write was refused for want of room. */
  #full: Error | undefined;
  #closing = false;
  /** Called when `writeError` begins and when it ends. */
  onWriteError: (writeError: Error | undefined) => void = () => {};

  constructor(disk: Disk, root: string, files: OpenFiles, options: JournalOptions) {
    this.#disk = disk;
    this.#root = root;
    this.#files = files;
    this.#number = options.nextNumber;
    this.#limit = options.limit;
    this.#isOurs = options.isOurs ?? (() => true);
  }

  get failure(): Error | undefined {
    return this.#failure ?? (this.#closing ? this.#closed() : undefined);
  }

  /** Why the last write was refused, until one succeeds. */
  get writeError(): Error | undefined {
    return this.#failure ?? this.#full;
  }

  queue(stream: LogStream, head: string): void {
    if (stream.queued.push(head) === 1) this.#queue.streams.push(stream);
  }

  writeQueue(waiting: WriteWaiter): void {
    this.#queue.waiting.push(waiting);
    if (this.#busy) return;
    this.#busy = true;
    setImmediate(this.#begin);
  }

  async drained(): Promise<void> {
    while (this.#busy) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Leaves the plain files complete and no journal, unless something failed or could not be opened. */
  async close(): Promise<void> {
    // From here on nothing is taken: what came after the files were synced would be acknowledged with no journal behind it.
    this.#closing = true;
    await this.drained();
    await this.#removal;
    if (this.#failure === undefined && this.#file !== undefined) await this.#finish(this.#file.path, 4);
    this.#file?.handle.close();
    this.#file = undefined;
    this.#files.closeAll();
    this.#failure ??= this.#closed();
  }

  #closed(): Error {
    return new ReadOnlyError(`The home ${this.#root} was closed.`);
  }

  readonly #begin = (): void => {
    const file = this.#file;
    if (this.#failure === undefined && !this.#isHomeOurs())
      this.#break(new Error("another process has taken the home: home.lock was deleted while it was held"));
    const full = file !== undefined && file.end >= this.#limit && this.#removal === undefined;
    if (this.#failure !== undefined) this.#refuse([], NOTHING, this.#failure);
    else if (file !== undefined && !full) this.#write(file);
    else this.#turnOver().then(this.#write, (error: unknown) => this.#takeBack([], NOTHING, error, false));
  };

  #isHomeOurs(): boolean {
    try {
      return this.#isOurs();
    } catch {
      return true; // there was no room for a new lock's file, or no file could be opened: nobody else has one either
    }
  }

  readonly #write = (file: JournalFile): void => {
    const { streams, waiting } = this.#queue;
    this.#queue = { streams: [], waiting: [] };
    const segments: QueuedLines[] = [];
    let from = FRAME_HEAD;
    for (const stream of streams) {
      const to = from + this.#frame.add(stream.path, stream.size, stream.queued);
      segments.push({ stream, seq: stream.seq, from, to });
      stream.queued = [];
      from = to;
    }
    const frame = this.#frame.finish(this.#number);
    file.handle.writeThrough(roomAhead(file, frame, this.#limit), file.end, (error) => {
      if (error !== null) this.#takeBack(segments, waiting, error, false);
      else if (this.#failure !== undefined) this.#takeBack(segments, waiting, this.#failure, true);
      else this.#complete(file, frame, segments, waiting);
    });
  };

  /** The frame is on disk: put its lines where people look for them, then tell everybody (JOURNAL-1). */
  #complete(file: JournalFile, frame: Buffer, segments: readonly QueuedLines[], waiting: readonly WriteWaiter[]): void {
    try {
      this.#files.ready(segments.map(({ stream }) => stream.path));
      for (const { stream, from, to } of segments)
        this.#files.write(stream.path, frame.subarray(from, to), stream.size);
    } catch (error) {
      this.#takeBack(segments, waiting, error, true);
      return;
    }
    for (const { stream, from, to } of segments) stream.size += to - from;
    file.end += frame.length;
    this.#number++;
    this.#frame.reset();
    if (this.#full !== undefined) this.#tellWriteError(undefined);
    this.#acknowledge(segments, waiting);
    this.#next();
  }

  #acknowledge(segments: readonly QueuedLines[], waiting: readonly WriteWaiter[]): void {
    for (const { stream, seq } of segments) stream.durableSeq = seq;
    for (const one of waiting) one.onDisk();
    for (const one of waiting) one.resolve();
  }

  /** JOURNAL-3, JOURNAL-5. */
  #takeBack(
    segments: readonly QueuedLines[],
    waiting: readonly WriteWaiter[],
    error: unknown,
    isInJournal: boolean,
  ): void {
    this.#frame.reset();
    const isOfFiles = isOutOfFiles(error);
    let refusal: Error = isOfFiles ? new TooManyFilesError(this.#root, error) : new DiskFullError(this.#root, error);
    const outcome = this.#undo(segments, isInJournal);
    if (outcome !== "taken back" || !(isOfFiles || isDiskFull(error))) refusal = this.#break(error, outcome);
    if (outcome === "kept") {
      // What was queued meanwhile is refused with what follows, and does not count on this write any less.
      this.#acknowledge(segments, waiting);
      this.#refuse([], NOTHING, refusal);
      return;
    }
    // Whether a file can be opened shows only by opening it.
    if (this.#failure === undefined && this.#full === undefined && !isOfFiles) this.#tellWriteError(refusal);
    this.#refuse(segments, waiting, refusal);
  }

  /** Files before the journal: were it the other way round, a crash between could leave half of a write in them. */
  #undo(segments: readonly QueuedLines[], isInJournal: boolean): "taken back" | "kept" | "unknown" {
    try {
      for (const { stream } of segments) this.#files.cut(stream.path, stream.size);
    } catch {
      if (isInJournal) return "kept";
    }
    try {
      if (this.#file !== undefined) {
        this.#file.handle.truncate(this.#file.end);
        this.#file.allocated = this.#file.end;
      }
      return "taken back";
    } catch {
      return "unknown";
    }
  }

  /** Everything that waits counted on what failed, so all of it is refused and the numbers go back. */
  #refuse(segments: readonly QueuedLines[], waiting: readonly WriteWaiter[], error: Error): void {
    const { streams, waiting: later } = this.#queue;
    this.#queue = { streams: [], waiting: [] };
    for (const stream of [...segments.map((segment) => segment.stream), ...streams]) {
      stream.queued = [];
      stream.seq = stream.durableSeq;
    }
    for (const one of [...waiting, ...later]) one.reject(error);
    this.#next();
  }

  #break(error: unknown, outcome?: "taken back" | "kept" | "unknown"): Error {
    const reason = error instanceof Error ? error.message : String(error);
    const isNew = this.#failure === undefined;
    const last = outcome === "unknown" ? " The next start shows whether the last records were kept." : "";
    this.#failure ??= new ReadOnlyError(
      `Writing to ${this.#root} failed (${reason}). What was recorded before is safe; nothing more is recorded until Agiraph is started again.${last} Check the disk, then restart.`,
      { cause: error },
    );
    if (isNew) this.onWriteError(this.#failure);
    return this.#failure;
  }

  #tellWriteError(full: Error | undefined): void {
    this.#full = full;
    this.onWriteError(full);
  }

  #next(): void {
    if (this.#queue.waiting.length > 0) {
      setImmediate(this.#begin);
      return;
    }
    this.#busy = false;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }

  /** A new journal; the old one goes in the background, while writes go on. */
  async #turnOver(): Promise<JournalFile> {
    const path = join(journalDir(this.#root), journalName(this.#number));
    const handle = this.#disk.open(path, "journal");
    try {
      await this.#disk.syncDir(journalDir(this.#root));
    } catch (error) {
      handle.close();
      throw error;
    }
    const old = this.#file;
    const file = { handle, path, end: 0, allocated: 0 };
    this.#file = file;
    if (old === undefined) return file;
    old.handle.close();
    this.#removal = this.#finish(old.path, 1).finally(() => {
      this.#removal = undefined;
    });
    return file;
  }

  /** JOURNAL-4. */
  async #finish(path: string, lanes: number): Promise<void> {
    const unsynced = this.#files.takeUnsynced();
    for (;;) {
      try {
        await this.#files.sync(unsynced, lanes);
        this.#disk.remove(path);
        await this.#disk.syncDir(journalDir(this.#root));
        return;
      } catch (error) {
        // The journal stays until it can be done without; nobody waits for that with closing.
        if (!isOutOfFiles(error)) return void this.#break(error);
        if (this.#closing) return;
        await setTimeout(NO_FILES_MS);
      }
    }
  }
}

export interface JournalOptions {
  nextNumber: number;
  limit: number;
  /** Asked before each write: whether this process still has the home. */
  isOurs?: () => boolean;
}

interface JournalWrite {
  streams: LogStream[];
  waiting: WriteWaiter[];
}

/** Until the next look whether a file can be opened again. */
const NO_FILES_MS = 1000;

const NOTHING: readonly WriteWaiter[] = [];

/** Lines of one stream within the frame. */
interface QueuedLines {
  stream: LogStream;
  seq: number;
  from: number;
  to: number;
}
