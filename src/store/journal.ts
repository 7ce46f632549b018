import { join } from "node:path";
import type { Disk, DiskFile } from "./disk.ts";
import { isDiskFull } from "./disk.ts";
import { DiskFullError, ReadOnlyError } from "./errors.ts";
import { FrameWriter } from "./frame.ts";
import type { OpenFiles } from "./open-files.ts";
import { journalDir } from "./paths.ts";
import { journalName } from "./recovery.ts";
import type { Stream } from "./stream.ts";

/**
 * The group commit: whatever was appended meanwhile, by whomever and to whichever file, goes to disk in one write.
 *
 * J1. A commit is one frame, written through; only then are its lines put into their plain files (unsynced), and only
 *     then is anyone told. So a crash finds the journal at or ahead of the files, never behind.
 * J2. One commit at a time; the next begins when the event loop has turned, so that those just woken can join it.
 * J3. No room: files first, then the journal are cut back to the last commit, everything waiting is refused, numbers go
 *     back. Any other failure: nothing is acknowledged any more.
 * J4. A journal is removed only when the files it covers, and their names, are synced (the checkpoint).
 */
export class Journal {
  readonly #disk: Disk;
  readonly #root: string;
  readonly #files: OpenFiles;
  readonly #limit: number;
  readonly #frame = new FrameWriter();
  #file: { handle: DiskFile; path: string; end: number } | undefined;
  #number: number;
  #streams: Stream[] = [];
  #waiting: Waiting[] = [];
  #busy = false;
  #idle: (() => void)[] = [];
  #checkpoint: Promise<void> | undefined;
  #failure: Error | undefined;

  constructor(disk: Disk, root: string, files: OpenFiles, options: { nextNumber: number; limit: number }) {
    this.#disk = disk;
    this.#root = root;
    this.#files = files;
    this.#number = options.nextNumber;
    this.#limit = options.limit;
  }

  /** Why nothing can be appended any more, if so. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  queue(stream: Stream, head: string): void {
    if (stream.queued.push(head) === 1) this.#streams.push(stream);
  }

  /** Tells `waiting` how the commit went that takes everything queued so far. */
  commit(waiting: Waiting): void {
    this.#waiting.push(waiting);
    if (this.#busy) return;
    this.#busy = true;
    setImmediate(this.#begin);
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    while (this.#busy) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Leaves the plain files complete and no journal, unless something failed. */
  async close(): Promise<void> {
    await this.settled();
    await this.#checkpoint;
    if (this.#failure === undefined && this.#file !== undefined) await this.#settle(this.#file.path);
    this.#file?.handle.close();
    this.#file = undefined;
    this.#files.closeAll();
    this.#failure ??= new ReadOnlyError(`The home ${this.#root} was closed.`);
  }

  readonly #begin = (): void => {
    if (this.#failure !== undefined) return this.#refuse(this.#failure);
    const file = this.#file;
    if (file === undefined || (file.end >= this.#limit && this.#checkpoint === undefined)) {
      this.#turnOver().then(this.#write, (error: unknown) => this.#takeBack([], error));
    } else this.#write();
  };

  readonly #write = (): void => {
    const file = this.#file;
    if (file === undefined) throw new Error("A commit began without a journal.");
    const segments: Segment[] = [];
    let at = FRAME_START;
    for (const stream of this.#streams) {
      const length = this.#frame.add(stream.path, stream.size, stream.queued);
      segments.push({ stream, seq: stream.seq, from: at, to: at + length });
      at += length;
      stream.queued = [];
    }
    const waiting = this.#waiting;
    this.#streams = [];
    this.#waiting = [];
    const frame = this.#frame.finish(this.#number);
    file.handle.writeThrough(frame, file.end, (error) => {
      this.#waiting = [...waiting, ...this.#waiting];
      if (error !== null) return this.#takeBack(segments, error);
      if (this.#failure !== undefined) return this.#refuse(this.#failure);
      this.#settleInFiles(frame, segments, waiting);
    });
  };

  /** The frame is on disk: put its lines where people look for them, then tell everybody. */
  #settleInFiles(frame: Buffer, segments: readonly Segment[], waiting: readonly Waiting[]): void {
    try {
      for (const { stream, from, to } of segments) this.#files.write(stream.path, frame.subarray(from, to), stream.size);
    } catch (error) {
      return this.#takeBack(segments, error);
    }
    for (const { stream, seq, from, to } of segments) {
      stream.size += to - from;
      stream.durableSeq = seq;
    }
    if (this.#file !== undefined) this.#file.end += frame.length;
    this.#number++;
    this.#frame.reset();
    this.#waiting = this.#waiting.slice(waiting.length);
    for (const one of waiting) one.onDisk();
    for (const one of waiting) one.resolve();
    this.#next();
  }

  /** J3. Files before the journal: were it the other way round, a crash between could leave half of a commit in them. */
  #takeBack(segments: readonly Segment[], error: unknown): void {
    this.#frame.reset();
    if (!isDiskFull(error)) return this.#fail(error);
    try {
      for (const { stream } of segments) {
        const file = this.#files.get(stream.path);
        if (file.size() > stream.size) file.truncate(stream.size);
      }
      this.#file?.handle.truncate(this.#file.end);
    } catch (worse) {
      return this.#fail(worse);
    }
    for (const { stream } of segments) stream.seq = stream.durableSeq;
    this.#refuse(new DiskFullError(this.#root, error));
  }

  #fail(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#failure = new ReadOnlyError(
      `Writing to ${this.#root} failed (${reason}). What was acknowledged is safe; nothing more is accepted until it is opened again. Check the disk, then restart.`,
      { cause: error },
    );
    this.#refuse(this.#failure);
  }

  #refuse(error: Error): void {
    const waiting = this.#waiting;
    for (const stream of this.#streams) {
      stream.queued = [];
      stream.seq = stream.durableSeq;
    }
    this.#streams = [];
    this.#waiting = [];
    for (const one of waiting) one.reject(error);
    this.#next();
  }

  #next(): void {
    if (this.#waiting.length > 0) {
      setImmediate(this.#begin);
      return;
    }
    this.#busy = false;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }

  /** A new journal; the old one goes in the background, while commits go on. */
  async #turnOver(): Promise<void> {
    const path = join(journalDir(this.#root), journalName(this.#number));
    const handle = this.#disk.open(path, "journal");
    try {
      await this.#disk.syncDir(journalDir(this.#root));
    } catch (error) {
      handle.close();
      throw error;
    }
    const old = this.#file;
    this.#file = { handle, path, end: 0 };
    if (old === undefined) return;
    old.handle.close();
    this.#checkpoint = this.#settle(old.path).finally(() => {
      this.#checkpoint = undefined;
    });
  }

  /** J4. */
  async #settle(path: string): Promise<void> {
    try {
      await this.#files.sync(this.#files.takeUnsynced());
      this.#disk.remove(path);
      await this.#disk.syncDir(journalDir(this.#root));
    } catch (error) {
      this.#failure ??= this.#broken(error);
    }
  }
}

export interface Waiting {
  /** Before anybody's promise is resolved: followers first. */
  onDisk(): void;
  resolve(): void;
  reject(error: Error): void;
}

interface Segment {
  stream: Stream;
  seq: number;
  from: number;
  to: number;
}
