import type { Fact } from "../protocol/index.ts";
import { FRAME_HEAD, FrameWriter } from "../store/journal/frame.ts";
import type { LogWriter, WriteWaiter } from "../store/journal/log-writer.ts";
import type { OpenFiles } from "../store/journal/open-files.ts";
import type { LogStream } from "../store/journal/stream.ts";
import { FencedError, type StreamPart } from "./streams.ts";

export interface EngineWriterPorts {
  /** The tree's folder in the home: `agents/ID`. Streams are named in the home here, and in the tree there. */
  tree: string;
  files: OpenFiles;
  /**
   * Resolves when it is committed, with the files that go with these facts; rejects with FencedError, or because the
   * engine could not be reached.
   */
  add(parts: readonly StreamPart[], facts: readonly Fact[]): Promise<void>;
  /** Where these streams end in the engine. */
  ends(paths: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Before the next try to reach the engine. */
  pause(): Promise<void>;
  /** Whether this may still be tried: it was neither fenced nor closed. */
  isOurs(): boolean;
  onFailure(error: Error): void;
}

/**
 * The group write of one agent whose truth is in an engine: what was appended meanwhile goes there in one statement.
 *
 * ENGINE-WRITER-1. Lines are in the plain files only when the engine has them: a home is never ahead of it.
 * ENGINE-WRITER-2. One write at a time, in the order of the appends.
 * ENGINE-WRITER-3. Where nobody knows whether a write arrived, the engine is asked where its streams end: it is never
 *     sent twice, and never counted as lost while it may be there.
 * ENGINE-WRITER-4. Once it is fenced nothing is acknowledged any more, and nothing more is sent.
 */
export class EngineWriter implements LogWriter {
  readonly #ports: EngineWriterPorts;
  readonly #frame = new FrameWriter();
  #streams: LogStream[] = [];
  #waiting: WriteWaiter[] = [];
  #busy = false;
  #idle: (() => void)[] = [];
  #failure: Error | undefined;

  constructor(ports: EngineWriterPorts) {
    this.#ports = ports;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  queue(stream: LogStream, head: string): void {
    if (stream.queued.push(head) === 1) this.#streams.push(stream);
  }

  writeQueue(waiting: WriteWaiter): void {
    this.#waiting.push(waiting);
    if (this.#busy) return;
    this.#busy = true;
    setImmediate(this.#begin);
  }

  async drained(): Promise<void> {
    while (this.#busy) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Nothing is taken any more: it is another host's, or the home was closed. */
  end(why: Error): void {
    this.#failure ??= why;
  }

  readonly #begin = (): void => {
    const streams = this.#streams;
    const waiting = this.#waiting;
    this.#streams = [];
    this.#waiting = [];
    this.#write(
      streams,
      waiting.flatMap(({ facts }) => facts),
    )
      .then(
        (segments) => this.#acknowledge(segments, waiting),
        (error: unknown) => this.#refuse(streams, waiting, error as Error),
      )
      .finally(() => this.#next());
  };

  async #write(streams: readonly LogStream[], facts: readonly Fact[]): Promise<Segment[]> {
    if (this.#failure) throw this.#failure;
    const segments = this.#seal(streams);
    await this.#send(segments, facts);
    const { files } = this.#ports;
    files.ready(segments.map(({ stream }) => stream.path));
    for (const { stream, bytes } of segments) files.write(stream.path, bytes, stream.size);
    return segments;
  }

  #seal(streams: readonly LogStream[]): Segment[] {
    let from = FRAME_HEAD;
    const cuts = streams.map((stream) => {
      const to = from + this.#frame.add(stream.path, stream.size, stream.queued);
      const cut = { stream, seq: stream.seq, from, to };
      stream.queued = [];
      from = to;
      return cut;
    });
    // The frame is made anew for the next write, while this one may still be under way.
    const frame = Buffer.from(this.#frame.finish(0));
    this.#frame.reset();
    return cuts.map(({ stream, seq, from, to }) => ({ stream, seq, bytes: frame.subarray(from, to) }));
  }

  /** ENGINE-WRITER-3. */
  async #send(segments: readonly Segment[], facts: readonly Fact[]): Promise<void> {
    const { tree, add, ends, pause, isOurs } = this.#ports;
    const parts = segments.map(({ stream, bytes }) => ({
      path: stream.path.slice(tree.length + 1),
      at: stream.size,
      bytes,
    }));
    for (let isUnknown = false; ; isUnknown = true) {
      if (!isOurs()) throw new FencedError(tree);
      try {
        if (isUnknown && (await this.#arrived(parts, await ends(parts.map(({ path }) => path))))) return;
        await add(parts, facts);
        return;
      } catch (error) {
        if (error instanceof FencedError) throw error;
        await pause();
      }
    }
  }

  async #arrived(parts: readonly StreamPart[], ends: ReadonlyMap<string, number>): Promise<boolean> {
    return parts.every(({ path, at, bytes }) => ends.get(path) === at + bytes.length);
  }

  #acknowledge(segments: readonly Segment[], waiting: readonly WriteWaiter[]): void {
    for (const { stream, seq, bytes } of segments) {
      stream.size += bytes.length;
      stream.durableSeq = seq;
    }
    for (const one of waiting) one.onDisk();
    for (const one of waiting) one.resolve();
  }

  #refuse(streams: readonly LogStream[], waiting: readonly WriteWaiter[], error: Error): void {
    const isNew = this.#failure === undefined;
    this.#failure ??= error;
    const later = this.#waiting;
    for (const stream of [...streams, ...this.#streams]) {
      stream.queued = [];
      stream.seq = stream.durableSeq;
    }
    this.#streams = [];
    this.#waiting = [];
    if (isNew) this.#ports.onFailure(error);
    for (const one of [...waiting, ...later]) one.reject(this.#failure);
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
}

interface Segment {
  stream: LogStream;
  /** The newest number in it. */
  seq: number;
  bytes: Buffer;
}
