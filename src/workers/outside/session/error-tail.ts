import type { Readable } from "node:stream";
import { linesOf } from "./output-lines.ts";

const MOST_LINES = 20;
const LONGEST_LINE = 500;
const MAX_LINE_BYTES = 64 * 1024;

/** The last lines that a program wrote to its standard error: of interest when something went wrong. */
export class ErrorTail {
  /** Resolves when there will be no more lines. */
  readonly ended: Promise<void>;
  #lines: string[] = [];

  constructor(stderr: Readable) {
    this.ended = this.#read(stderr).catch(() => {});
  }

  /** What was written since it was last taken; undefined if nothing was. */
  take(): string | undefined {
    const lines = this.#lines;
    this.#lines = [];
    return lines.length > 0 ? lines.join("\n") : undefined;
  }

  async #read(stderr: Readable): Promise<void> {
    for await (const line of linesOf(stderr, MAX_LINE_BYTES))
      if (line?.trim()) this.#lines = [...this.#lines.slice(1 - MOST_LINES), line.slice(0, LONGEST_LINE)];
  }
}
