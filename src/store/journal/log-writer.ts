import type { Fact } from "../../protocol/index.ts";
import type { LogStream } from "./stream.ts";

/** Where the appends of a log are written: to the journal of its home, or to an engine. */
export interface LogWriter {
  /** Why nothing can be appended any more, if so. */
  readonly failure: Error | undefined;
  queue(stream: LogStream, head: string): void;
  /** Tells `waiting` how the write of everything queued so far went. */
  writeQueue(waiting: WriteWaiter): void;
  /** Resolves when nothing is under way. */
  drained(): Promise<void>;
}

export interface WriteWaiter {
  /** What it writes, so that an engine knows which files they are about. */
  readonly facts: readonly Fact[];
  /** Before anybody's promise is resolved: followers first. */
  onDisk(): void;
  resolve(): void;
  reject(error: Error): void;
}
