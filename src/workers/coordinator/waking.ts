import { createHash } from "node:crypto";
import type { Mailbox } from "../../mail/mailbox.ts";
import { COORDINATOR, type Entry, isMadeByTrigger, type StoredEntry, type UserEntry } from "../../protocol/index.ts";
import { momentIn } from "../../triggers/wall-clock.ts";
import type { ActingWorker } from "../loop/recorded-loop.ts";
import { waitForMail } from "../loop/waiting.ts";
import { shownMemory } from "../worker-memory.ts";
import type { Workplace } from "../workplace.ts";
import { isInfinite, nextCycle } from "./cycles.ts";

/** How much is told, at a waking, of a memory that others changed. */
const MOST_BYTES = 6_000;
const SHORT_BYTES = 3_000;

/**
 * The sleep of an infinite agent, at no cost, until its next cycle, a trigger or a message; and what it is told
 * when it wakes, since its prompt is that of its first day: the date, what it did last, what others have changed in its
 * memory, and what commands find in the sandbox if its prompt does not say that.
 */
export class Waking {
  readonly #self: ActingWorker;
  readonly #mailbox: Mailbox;
  readonly #workplace: Workplace;
  readonly #memory: SeenMemory;
  /** The number of the cycle in this process. */
  cycle = 0;
  #firstTurn: number | undefined;
  /** What is to be said with the next news; null while it is awake. */
  #words: { memory: string; hashes: Record<string, string> } | null = null;

  constructor(self: ActingWorker, mailbox: Mailbox, workplace: Workplace, stored: readonly StoredEntry[]) {
    this.#self = self;
    this.#mailbox = mailbox;
    this.#workplace = workplace;
    this.#memory = new SeenMemory(workplace, hashesIn(stored));
  }

  close(): void {
    this.#memory.close();
  }

  /** A run begins, with the memory in its prompt, or is resumed after any length of time. */
  async begin(why: "begins" | "resumed", history: readonly Entry[]): Promise<void> {
    if (!isInfinite(this.#workplace)) return;
    const words = await this.#memory.look();
    if (why === "resumed") {
      this.#words = words;
      return;
    }
    this.#memory.prompted(hashesIn(history));
    // Watching begins at once; the time of a cycle runs from the end of the one before.
    if (this.#workplace.now().agent.created.watch) await this.#setNext();
  }

  async sleep(signal: AbortSignal): Promise<string> {
    await this.#setNext();
    await this.#memory.lookAtOwn();
    if (this.#mailbox.waiting === 0) {
      await waitForMail({ self: this.#self, mailbox: this.#mailbox, workplace: this.#workplace }, "news", signal);
    }
    this.cycle += 1;
    this.#firstTurn = undefined;
    this.#words = await this.#memory.look();
    return "Recorded. You slept, and something woke you:";
  }

  async #setNext(): Promise<void> {
    const { log, pending, clock, timeZone } = this.#workplace;
    const facts = nextCycle(pending(), clock.now(), timeZone);
    if (facts.length > 0) await log.append({ facts }).durable;
  }

  /** The news as it is told: the first news after a sleep, and what triggers say, with the date. */
  told([news]: UserEntry[]): UserEntry[] {
    if (!news) return [];
    const words = this.#words;
    const { memory: _, ...rest } = news;
    if (!words)
      return news.messages?.some(isMadeByTrigger) ? [{ ...rest, content: this.#dated(news.content) }] : [news];
    this.#words = null;
    const content = [this.#dated(news.content), words.memory].filter(Boolean).join("\n\n");
    // What it is told about the memory must stay in view.
    const { cycle, ...kept } = rest;
    return [{ ...kept, content, memory: words.hashes, ...(cycle && words.memory === "" && { cycle }) }];
  }

  /** A summary has shown the memory as it is. */
  async restated(): Promise<void> {
    if (isInfinite(this.#workplace)) await this.#memory.look();
  }

  /** The last turn it may take: each cycle has its own turns. */
  lastTurn(turn: number): number {
    this.#firstTurn ??= turn;
    return this.#firstTurn - 1 + this.#workplace.maxTurns;
  }

  #dated(news: string): string {
    const { clock, timeZone, pending } = this.#workplace;
    const { last_checkpoint: last } = pending().agent;
    const before = last && isInfinite(this.#workplace);
    const rest = last?.is_cut ? `… (cut here; whole: ${WHOLE_CHECKPOINT})` : "";
    const did = before
      ? ` Your last checkpoint (${momentIn(last.ts * 1000, timeZone)}): ${oneLine(last.summary)}${rest}`
      : "";
    return `[It is ${momentIn(clock.now(), timeZone)}.${did}]\n\n${news}`;
  }
}

/** As a fact it is whole; the quotes leave out the facts of this very command. */
const WHOLE_CHECKPOINT = `grep '"worker.checkpointed"' agent/events.jsonl | tail -n 1`;

/** Beside the parts of its memory: what commands find, which may not have been known for its prompt. */
const SANDBOX = "(sandbox)";

/** Which parts of its memory the agent has seen, or wrote itself; and whether it knows what the sandbox has. */
class SeenMemory {
  readonly #workplace: Workplace;
  readonly #own = new Set<string>();
  readonly close: () => void;
  #texts = new Map<string, string>();
  #hashes: Record<string, string>;

  constructor(workplace: Workplace, hashes: Record<string, string>) {
    this.#workplace = workplace;
    this.#hashes = hashes;
    this.close = workplace.log.subscribe((fact) => {
      if (fact.type === "memory.written" && fact.data.by === COORDINATOR)
        this.#own.add(fact.data.path.replace(/^memory\//, ""));
    }, "all but turns");
  }

  /** What it wrote in the cycle that ends. */
  async lookAtOwn(): Promise<void> {
    for (const { path, text } of await shownMemory(this.#workplace)) if (this.#own.has(path)) this.#see(path, text);
    this.#own.clear();
  }

  /** What others have changed since the last look, in words; from now on it is seen. */
  async look(): Promise<{ memory: string; hashes: Record<string, string> }> {
    const parts = [...(await sandboxPart(this.#workplace)), ...(await shownMemory(this.#workplace))];
    const changed = parts.filter(({ path, text }) => this.#hashes[path] !== hashOf(text));
    const news = changed.map(({ path, text }) =>
      path === SANDBOX ? text : changeOf(path, this.#texts.get(path), text),
    );
    // Where it is not known yet in this process, it is still what it was told.
    const { [SANDBOX]: sandbox } = this.#hashes;
    this.#hashes = sandbox === undefined ? {} : { [SANDBOX]: sandbox };
    this.#texts = new Map();
    for (const { path, text } of parts) this.#see(path, text);
    return { memory: cut(news.join("\n\n"), MOST_BYTES), hashes: this.#hashes };
  }

  /** What the sandbox has may have become known since the prompt was written. */
  prompted({ [SANDBOX]: sandbox }: Record<string, string>): void {
    const { [SANDBOX]: _, ...memory } = this.#hashes;
    this.#hashes = { ...memory, ...(sandbox !== undefined && { [SANDBOX]: sandbox }) };
  }

  #see(path: string, text: string): void {
    this.#texts.set(path, text);
    this.#hashes = { ...this.#hashes, [path]: hashOf(text) };
  }
}

function changeOf(path: string, before: string | undefined, now: string): string {
  const known = new Set(before?.split("\n"));
  const added = now.split("\n").filter((line) => !known.has(line));
  const left = new Set(now.split("\n"));
  const gone = [...known].filter((line) => line.trim() !== "" && !left.has(line));
  const lines = [...(before === undefined ? now.split("\n") : added), ...gone.map((line) => `(removed: ${line})`)];
  return `${path} in your memory has changed since you last saw it:\n${cut(lines.join("\n").trim(), SHORT_BYTES)}`;
}

/** What an agent has seen after it was shown the memory as it is now, with these words about where it works. */
export async function seenMemory(workplace: Workplace, around: string): Promise<Record<string, string>> {
  const sandbox = (await sandboxPart(workplace)).filter(({ text }) => around.includes(text));
  const parts = [...sandbox, ...(await shownMemory(workplace))];
  return Object.fromEntries(parts.map(({ path, text }) => [path, hashOf(text)]));
}

async function sandboxPart({ machine }: Workplace): Promise<{ path: string; text: string }[]> {
  const { loop } = await machine();
  return loop === "" ? [] : [{ path: SANDBOX, text: loop }];
}

/** As the last waking recorded it. */
function hashesIn(stored: readonly Entry[]): Record<string, string> {
  const last = stored.findLast((entry) => entry.role === "user" && entry.memory);
  return (last?.role === "user" && last.memory) || {};
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const head = Buffer.from(text).subarray(0, bytes).toString("utf8").replace(/�+$/, "");
  return `${head}\n(cut here: read the rest with memory_read)`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
