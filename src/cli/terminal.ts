import type { Readable, Writable } from "node:stream";
import type { Environment } from "../runtime/config/settings.ts";
import { jsonLine } from "./wording/json-line.ts";
import { type Paint, paintFor } from "./wording/paint.ts";
import { harmless, wrapColoured } from "./wording/width.ts";

type OutputStream = Writable & { isTTY?: boolean; columns?: number; rows?: number };

/** An input stream; if it is a keyboard, single keys can be read. */
export type InputStream = Readable & { isTTY?: boolean; setRawMode?(raw: boolean): unknown };

const LONGEST_LINE = 200;

/**
 * Where the program was started: its streams, environment and signals.
 *
 * TERMINAL-1. Results go to stdout, messages for people to stderr.
 * TERMINAL-2. The reader of stdout may go away at any time (`| head`): that is not a failure, and `readerLeft` reports
 *     it.
 * TERMINAL-3. Nothing is cut off: `drained` resolves when everything has been written.
 * TERMINAL-4. Text that goes to a terminal contains no control sequences except colours, whatever was put into it.
 */
export class Terminal {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Environment;
  readonly cwd: string;
  readonly readerLeft: AbortSignal;
  /** For stdout. */
  readonly paint: Paint;
  /** For stderr. */
  readonly errPaint: Paint;

  constructor(
    streams: { stdin: InputStream; stdout: OutputStream; stderr: OutputStream },
    env: Environment,
    cwd: string,
  ) {
    this.stdin = streams.stdin;
    this.stdout = streams.stdout;
    this.stderr = streams.stderr;
    this.env = env;
    this.cwd = cwd;
    this.paint = paintFor(this.stdout, env);
    this.errPaint = paintFor(this.stderr, env);
    const left = new AbortController();
    this.readerLeft = left.signal;
    this.stdout.on("error", (error) => left.abort(error));
    // Nobody is there to be told.
    this.stderr.on("error", () => {});
  }

  /** How wide lines for people may be; what goes to a file or a pipe is not broken. A terminal may not know its width. */
  get columns(): number {
    return this.stdout.isTTY ? this.stdout.columns || 80 : Number.POSITIVE_INFINITY;
  }

  /** How wide a line may be that stands for one thing among many: in a file or a pipe, too, it is a line and no page. */
  get lineColumns(): number {
    return this.stdout.isTTY ? this.columns : Number(this.env.COLUMNS) || LONGEST_LINE;
  }

  /** A result. Wait for it where there is much of it, so that a slow reader costs no memory. */
  async print(text: string | Uint8Array): Promise<void> {
    if (this.readerLeft.aborted || this.stdout.write(text)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.stdout.once("drain", resolve);
    this.readerLeft.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    this.stdout.off("drain", resolve);
  }

  printLines(lines: readonly string[]): Promise<void> {
    return this.print(lines.map((line) => `${this.stdout.isTTY ? harmless(line) : line}\n`).join(""));
  }

  printJson(value: unknown): Promise<void> {
    return this.print(jsonLine(value));
  }

  /** Words for a person, broken at spaces where somebody reads them. */
  say(words: string): void {
    const { isTTY, columns } = this.stderr;
    this.stderr.write(`${isTTY ? wrapColoured(harmless(words), columns || 80).join("\n") : words}\n`);
  }

  async drained(): Promise<void> {
    await Promise.all(
      [this.stdout, this.stderr].map((stream) => new Promise<void>((resolve) => stream.write("", () => resolve()))),
    );
  }
}
