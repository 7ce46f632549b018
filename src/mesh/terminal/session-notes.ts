import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";

const toldSchema = z.object({ task: z.string(), at: z.number() });
const earlierSchema = z.object({ task: z.string(), isResumed: z.boolean() });

/** The task that an earlier session was told last, and whether this session goes on with its conversation. */
export type Earlier = z.infer<typeof earlierSchema>;

/**
 * Notes about a session in a terminal (`TX_SESSION`), shared by `tx` in that session and the member that types to it.
 *
 * SESSION-NOTES-1. `tx done` ends the task that the session knew of when it was called: a late or repeated call never
 *     ends a task that was delivered after the call began.
 * SESSION-NOTES-2. An answer that `tx ask --wait` waits for, or has received, is not typed as well; if nobody waits any
 *     more, it is.
 * SESSION-NOTES-3. The session counts as waiting from its last question, or the last task that it delegated, until it
 *     gets a message.
 * SESSION-NOTES-4. What an earlier session was told is known until a later one is told something: a session that ends
 *     before it was told anything does not hide that its task was begun.
 */
export class SessionNotes {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** For a new session: of what the former one was told, only its last task concerns it. */
  begin(earlier: Earlier | null): void {
    if (earlier === null) rmSync(this.#earlier, { force: true });
    else this.#write(this.#earlier, JSON.stringify(earlier));
    for (const file of [this.#told, this.#heard, this.#asked]) rmSync(file, { force: true });
    rmSync(this.#awaited, { recursive: true, force: true });
  }

  /** SESSION-NOTES-4. */
  earlier(): Earlier | undefined {
    return parsed(earlierSchema, textOf(this.#earlier));
  }

  /** The task that this session was told last; if it was told none, an earlier one. */
  lastTask(): string | undefined {
    return this.lastTold() ?? this.earlier()?.task;
  }

  /** Noted before the session can know of the task: a command that ends it starts later. */
  tell(task: string, at: number): void {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
    appendFileSync(this.#told, `${JSON.stringify({ task, at })}\n`, { mode: 0o600 });
  }

  /** The task that it was last told before this instant. */
  toldBefore(at: number): string | undefined {
    const told = textOf(this.#told)
      .split("\n")
      .map((line) => parsed(toldSchema, line));
    return told.findLast((one) => one !== undefined && one.at <= at)?.task;
  }

  /** The task that it was told last. */
  lastTold(): string | undefined {
    return this.toldBefore(Number.POSITIVE_INFINITY);
  }

  /** SESSION-NOTES-3: it is told something now. */
  hears(at: number): void {
    this.#write(this.#heard, String(at));
  }

  /** It has asked somebody something, or handed something on. */
  asks(at: number): void {
    this.#write(this.#asked, String(at));
  }

  isWaiting(): boolean {
    return Number(textOf(this.#asked)) > Number(textOf(this.#heard));
  }

  /** SESSION-NOTES-2. */
  awaits(question: string): void {
    this.#mark(question, String(process.pid));
  }

  hasTaken(question: string): void {
    this.#mark(question, TAKEN);
  }

  isAwaited(question: string): boolean {
    const who = textOf(join(this.#awaited, question));
    return who === TAKEN || (who !== "" && isAlive(Number(who)));
  }

  #mark(question: string, who: string): void {
    this.#write(join(this.#awaited, question), who);
  }

  #write(path: string, text: string): void {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, text, { mode: 0o600 });
  }

  get #heard(): string {
    return join(this.#dir, "heard");
  }

  get #asked(): string {
    return join(this.#dir, "asked");
  }

  get #earlier(): string {
    return join(this.#dir, "earlier.json");
  }

  get #told(): string {
    return join(this.#dir, "told.ndjson");
  }

  get #awaited(): string {
    return join(this.#dir, "awaited");
  }
}

const TAKEN = "taken";

function parsed<T>(schema: z.ZodType<T>, text: string): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function isAlive(pid: number): boolean {
  try {
    return pid > 1 && process.kill(pid, 0);
  } catch {
    return false;
  }
}
