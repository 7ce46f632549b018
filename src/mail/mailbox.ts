import type { Situation } from "../projections/index.ts";
import { COORDINATOR, type Fact, HUMAN, type NodeId, type UserEntry } from "../protocol/index.ts";
import type { AgentLog } from "../store/store.ts";
import { endsOfColleagues, newsOfColleague } from "./colleague-news.ts";
import { type News, newsFor, newsOfLetter } from "./news.ts";

/** The node on which a worker reads, and up to where it was told mail during its earlier work. */
export interface OnNode {
  node: NodeId;
  told: number;
  /** Up to where it was told, while it waited, what its colleagues ended. */
  colleagues: number;
}

/**
 * What one reader has not been told yet: the facts after its cursor.
 *
 * MAILBOX-1. The cursor is kept in the conversation itself (`upto`), written together with the news: each piece of news
 *     is told once, whatever crashes.
 * MAILBOX-1a. A worker that returns to a node after other work is told what happened below that node since it left,
 *     without messages that it has read meanwhile.
 * MAILBOX-1b. What colleagues ended is told to a worker that waits, and to nobody who works: when it begins to wait, what
 *     has ended since its node was made; then each end as it comes.
 * MAILBOX-1c. What has been overtaken when it is read is not told: a publish that was refused, once the work has come in
 *     or was refused again.
 * MAILBOX-2. Nobody polls: `arrived` is a promise that the log resolves.
 */
export class Mailbox {
  readonly #reader: string;
  readonly #now: () => Situation;
  readonly #on: OnNode | undefined;
  #waiting: (News & { seq: number })[] = [];
  #cursor: number;
  #wake: (() => void) | undefined;
  /** It waits for anything that may come, and has been told nothing since. */
  #hearsColleagues = false;
  #colleaguesTold: number;
  readonly #listeners = new Set<() => void>();
  #close: () => void = () => {};
  /** What is worth a line with the next news, and not worth waking anybody for. */
  aside: () => string[] = () => [];

  private constructor(reader: string, cursor: number, now: () => Situation, on: OnNode | undefined) {
    this.#reader = reader;
    this.#cursor = cursor;
    this.#now = now;
    this.#on = on;
    this.#colleaguesTold = on?.colleagues ?? 0;
  }

  static async open(
    log: AgentLog,
    reader: string,
    cursor: number,
    now: () => Situation,
    on?: OnNode,
  ): Promise<Mailbox> {
    const box = new Mailbox(reader, cursor, now, on);
    // First listen, then read what was before: a fact may come by both ways, and counts once.
    const live: Fact[] = [];
    let listener = (fact: Fact): void => {
      live.push(fact);
    };
    box.#close = log.subscribe((fact) => listener(fact), "all but turns");
    for (let after = cursor; ; ) {
      const page = await log.read({ after, limit: 1000 });
      for (const fact of page) box.#put(fact);
      const last = page.at(-1);
      if (!last || page.length < 1000) break;
      after = last.seq;
    }
    for (const fact of live) box.#put(fact);
    listener = (fact) => box.#put(fact);
    box.#putEarlier();
    return box;
  }

  /** Everything new, as one entry; nothing when there is nothing. */
  take(): UserEntry[] {
    const now = this.#now();
    this.#waiting = this.#waiting.filter(({ stands }) => stands?.(now) ?? true);
    const last = this.#waiting.at(-1);
    if (!last) return [];
    const content = [...this.#waiting.map((news) => news.text), ...this.aside()].join("\n\n");
    const messages = this.#waiting.flatMap((news) => news.message_id ?? []);
    const from = this.#waiting.some((news) => news.from === HUMAN) ? HUMAN : "agiraph";
    const beat = this.#waiting.every((news) => news.beat) ? { beat: true as const } : {};
    const isCycle = this.#waiting.every((news) => news.cycle) && this.#waiting.some(({ cycle }) => cycle === "begins");
    const cycle = isCycle ? { cycle: true as const } : {};
    const colleagues = this.#hearsColleagues ? { colleagues: true as const } : {};
    this.#waiting = [];
    if (this.#hearsColleagues) this.#colleaguesTold = last.seq;
    this.#hearsColleagues = false;
    const flags = { ...(messages.length > 0 && { messages }), ...beat, ...cycle, ...colleagues };
    return [{ role: "user", from, content, upto: last.seq, ...flags }];
  }

  /** Its reader begins to wait for anything that may come: until it is told something, the ends of colleagues are news. */
  hearColleagues(): void {
    if (!this.#on || this.#hearsColleagues) return;
    this.#hearsColleagues = true;
    const ended = endsOfColleagues(this.#on.node, this.#now(), this.#colleaguesTold);
    // They may be older than what it was told last: the cursor never goes back.
    this.#waiting.push(...ended.map((news) => ({ ...news, seq: this.#cursor })));
  }

  /** Whether somebody has spoken who is not to be kept waiting: the human, or the coordinator. */
  get isUrgent(): boolean {
    return this.#waiting.some(({ from }) => from === HUMAN || from === COORDINATOR);
  }

  /** The first fact whose news is still to be told. */
  get untoldFrom(): number {
    return this.#waiting[0]?.seq ?? Number.POSITIVE_INFINITY;
  }

  /** How much there is to wake somebody for. */
  get waiting(): number {
    return this.#waiting.filter((news) => !news.isQuiet).length;
  }

  /** Whether there is anything but results: those can wait for the others' results. */
  get hasMoreThanResults(): boolean {
    return this.#waiting.some((news) => !news.isResult && !news.isQuiet);
  }

  /** Resolves when there is news, or enough of it. */
  async arrived(signal: AbortSignal, isEnough: () => boolean = () => this.waiting > 0): Promise<void> {
    if (isEnough()) return;
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    this.#wake = () => {
      if (isEnough()) resolve();
    };
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", stop);
      this.#wake = undefined;
    }
  }

  /** Told whenever something new waits; call what is returned to be told no more. */
  onNews(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#close();
  }

  /** Messages sent to this reader before it began, which nobody has seen yet. */
  #putEarlier(): void {
    const known = new Set(this.#waiting.map((news) => news.message_id));
    const earlier = Object.values(this.#now().letters.queued).filter(
      ({ id, to, reader }) => to === this.#reader && reader === to && !known.has(id),
    );
    const seq = Math.min(this.#cursor, this.#waiting[0]?.seq ?? this.#cursor);
    this.#waiting.unshift(...earlier.map((letter) => ({ ...newsOfLetter(letter, this.#now()), seq })));
  }

  /** Anyone who takes work up again finds old mail in the log that has meanwhile been read in their place. */
  #isSomebodyElses(fact: Fact): boolean {
    if (fact.type !== "message.sent") return false;
    if (fact.data.to === "*") return fact.seq <= (this.#on?.told ?? 0);
    const letter = this.#now().letters.queued[fact.data.message_id];
    return letter?.reader !== this.#reader;
  }

  #put(fact: Fact): void {
    if (fact.seq <= this.#cursor) return;
    this.#cursor = fact.seq;
    if (this.#isSomebodyElses(fact)) return;
    const now = this.#now();
    const colleague = this.#hearsColleagues && this.#on ? newsOfColleague(fact, now, this.#on.node) : undefined;
    const news = newsFor(this.#reader, fact, now, this.#on?.node) ?? colleague;
    if (news === undefined) return;
    this.#waiting.push({ ...news, seq: fact.seq });
    if (news.isQuiet) return;
    this.#wake?.();
    for (const listener of this.#listeners) listener();
  }
}
