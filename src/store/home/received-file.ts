import { appendFileSync, readFileSync } from "node:fs";
import { z } from "zod";
import { replaceFile } from "../disk/atomic-file.ts";
import { receivedFile } from "../paths.ts";

const receivedSchema = z.object({ at: z.number(), id: z.string().max(300) });
/** A signature or delivery id that was accepted, and when, in milliseconds. */
export type ReceivedId = z.infer<typeof receivedSchema>;

/**
 * What was recently accepted by webhook, so that a restart does not accept it again. One JSON line each.
 *
 * RECEIVED-1. A line is written before its message is acted on, so it survives a kill. It is not synced: after a power
 *     failure, messages signed before the start are refused anyway.
 */
export class ReceivedFile {
  readonly #path: string;
  readonly #keepMs: number;
  #lines = 0;

  constructor(home: string, keepMs: number) {
    this.#path = receivedFile(home);
    this.#keepMs = keepMs;
  }

  /** Those that still count; the others are dropped from the file. A line that cannot be read is skipped. */
  load(now: number): ReceivedId[] {
    const lines = this.#read().split("\n").filter(Boolean);
    const kept = lines.flatMap((line) => parsed(line) ?? []).filter(({ at }) => now - at <= this.#keepMs);
    if (kept.length < lines.length) replaceFile(this.#path, kept.map(lineOf).join(""));
    this.#lines = kept.length;
    return kept;
  }

  add(received: ReceivedId): void {
    if (this.#lines >= MOST_LINES) this.load(received.at);
    appendFileSync(this.#path, lineOf(received), { mode: 0o600 });
    this.#lines++;
  }

  #read(): string {
    try {
      return readFileSync(this.#path, "utf8");
    } catch {
      return "";
    }
  }
}

/** Then those that no longer count are dropped: twice as many as are remembered at once. */
const MOST_LINES = 40_000;

function lineOf(received: ReceivedId): string {
  return `${JSON.stringify(received)}\n`;
}

function parsed(line: string): ReceivedId | undefined {
  try {
    return receivedSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
