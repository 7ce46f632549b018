import type { WebSocket } from "ws";
import type { Fact } from "../protocol/index.ts";
import type { Agent } from "../runtime/agent.ts";
import type { Delta } from "../workers/loop/recorded-loop.ts";
import { wordsOf } from "./spoken-words.ts";

/** What a feed needs from an agent. */
export type FeedSource = Pick<Agent, "log" | "onDelta" | "saying" | "idle" | "now">;

export interface FeedLimits {
  /** So many bytes may wait in a socket before its follower is put back to its cursor. */
  mostWaiting: number;
  /** And so many frames: each costs memory of its own, however small it is. */
  mostFrames: number;
  /** Facts read from the file at a time, and held while the last of them are read. */
  page: number;
}

/**
 * Sends one agent's facts and streamed words to all its followers.
 *
 * EVENT-FEED-1. A follower gets each fact after its cursor once, in order: from the file first, then live.
 * EVENT-FEED-2. An agent never waits for a follower, and nothing is buffered for a slow one: it is reset to its cursor
 *     and reads from the file again when it has received what was sent.
 * EVENT-FEED-3. Streamed words go only to followers that are up to date, before the fact they lead to, and are never
 *     sent late.
 * EVENT-FEED-4. A fact is serialised once for all followers; so is a page of the file, for all that read it at about
 *     the same time.
 * EVENT-FEED-5. Only a few followers read the file at a time: however many begin at once, other requests are answered
 *     in between.
 * EVENT-FEED-6. A follower that watches gets every reply whole, before the fact that ends it: what was streamed before
 *     it was up to date comes as one frame (`so_far`). When everybody rests and the files are written, it is told
 *     (`rest`).
 */
export class Feed {
  readonly #agent: FeedSource;
  readonly #followers = new Set<Follower>();
  readonly #pages: Pages;
  readonly #deltas = new Map<string, Delta>();
  readonly #unhear: readonly (() => void)[];
  #flushing: NodeJS.Immediate | undefined;

  constructor(agent: FeedSource) {
    this.#agent = agent;
    this.#pages = new Pages(agent.log);
    this.#unhear = [agent.log.subscribe((fact) => this.#onFact(fact)), agent.onDelta((delta) => this.#onDelta(delta))];
  }

  get size(): number {
    return this.#followers.size;
  }

  join(socket: WebSocket, { after, isWatching = false }: Place, limits: FeedLimits, turns: Turns): Follower {
    const page = (from: number) => turns.take(() => this.#pages.read(from, limits.page));
    const watched = {
      read: async (from: number) => this.#withWords(await page(from)),
      live: () => this.#wordsSoFar(follower),
    };
    const follower: Follower = new Follower(
      socket,
      after,
      limits,
      isWatching ? watched : { read: page, live: undefined },
    );
    this.#followers.add(follower);
    return follower;
  }

  leave(follower: Follower): void {
    this.#followers.delete(follower);
  }

  close(): void {
    clearImmediate(this.#flushing);
    for (const unhear of this.#unhear) unhear();
  }

  #onFact(fact: Fact): void {
    this.#flush();
    let bytes: Buffer | undefined;
    const frame = () => {
      bytes ??= frameOf(fact);
      return bytes;
    };
    for (const follower of this.#followers) follower.hear(fact, frame);
    if (RESTS.has(fact.type)) this.#tellRest([...this.#followers]);
  }

  /** It hears what is said from now on: first what was said of the replies under way. */
  #wordsSoFar(follower: Follower): Buffer[] {
    this.#flush();
    this.#tellRest([follower]);
    return this.#agent.saying().map((delta) => this.#frameOf(delta, true));
  }

  #tellRest(followers: readonly Follower[]): void {
    const tell = (error?: string) => {
      const frame = Buffer.from(JSON.stringify({ type: "rest", seq: this.#agent.now.seq, error }));
      for (const follower of followers) follower.rest(frame);
    };
    if (followers.some(({ isWatching }) => isWatching))
      this.#agent.idle().then(
        () => tell(),
        (error: unknown) => tell(error instanceof Error ? error.message : String(error)),
      );
  }

  async #withWords(page: readonly Framed[]): Promise<Framed[]> {
    const { log, now } = this.#agent;
    const facts = page.map(({ fact }) => fact);
    const words = await wordsOf(facts, log, () => now.roster);
    return page.map((each) => {
      const delta = words.get(each.seq);
      return delta ? { ...each, words: this.#frameOf(delta, true) } : each;
    });
  }

  #frameOf(delta: Delta, isAll = false): Buffer {
    const { id } = this.#agent.log;
    return Buffer.from(JSON.stringify({ type: "delta", agent_id: id, ...delta, ...(isAll && { so_far: true }) }));
  }

  /** A model says a word at a time, a team hundreds at once: what one says within a tick is one frame. */
  #onDelta(delta: Delta): void {
    const key = `${delta.worker_id} ${delta.node_id} ${delta.kind}`;
    const before = this.#deltas.get(key);
    this.#deltas.set(key, before ? { ...delta, text: before.text + delta.text } : delta);
    this.#flushing ??= setImmediate(() => this.#flush());
  }

  #flush(): void {
    if (this.#flushing === undefined) return;
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    for (const delta of this.#deltas.values()) {
      const frame = this.#frameOf(delta);
      for (const follower of this.#followers) follower.overhear(frame);
    }
    this.#deltas.clear();
  }
}

/** Where a follower begins, and whether it watches (EVENT-FEED-6). */
interface Place {
  after: number;
  isWatching?: boolean;
}

/** After these, perhaps nobody works any more. */
const RESTS: ReadonlySet<string> = new Set(["agent.completed", "agent.failed", "agent.stopped", "agent.paused"]);

interface Source {
  read(after: number): Promise<readonly Framed[]>;
  /** For whoever watches, when it has caught up: what it hears first. */
  live: (() => Buffer[]) | undefined;
}

/** One follower. */
export class Follower {
  readonly #socket: WebSocket;
  readonly #source: Source;
  readonly #limits: FeedLimits;
  #cursor: number;
  #unsent = 0;
  #mode: "reading" | "live" | "behind" | "closed" = "behind";
  /** What comes while the file is read, unless it is too much. */
  #meanwhile: Fact[] | undefined;
  #drained: (() => void) | undefined;
  /** Words were left out since it caught up. */
  #hasMissedWords = false;
  /** Whether it took anything, or answered, since somebody last asked. */
  alive = true;

  constructor(socket: WebSocket, after: number, limits: FeedLimits, source: Source) {
    this.#socket = socket;
    this.#source = source;
    this.#cursor = after;
    this.#limits = limits;
  }

  get isWatching(): boolean {
    return this.#source.live !== undefined;
  }

  /**
   * Reads what it has missed and stays with what comes. What it is told before that counts like the rest: facts wait until
   * a large one is taken.
   */
  begin(first?: Buffer): void {
    this.#mode = "reading";
    if (first) this.#write(first);
    this.#catchUp().catch(() => {
      this.close();
      this.#socket.close(1011, "The log could not be read. Connect again from the last seq.");
    });
  }

  hear(fact: Fact, frame: () => Buffer): void {
    if (this.#mode === "reading") {
      if (this.#meanwhile && this.#meanwhile.push(fact) > this.#limits.page) this.#meanwhile = undefined;
    } else if (this.#mode === "live") {
      if (this.#isFull()) this.#mode = "behind";
      else if (this.#hasMissedWords && endsReply(fact)) this.begin();
      else this.#send(fact.seq, frame());
    }
  }

  overhear(frame: Buffer): void {
    // Words are worth less than facts: they give way long before a follower is put back.
    if (this.#mode !== "live") return;
    if (this.#socket.bufferedAmount <= this.#limits.mostWaiting / 4) this.#write(frame);
    else this.#hasMissedWords = this.isWatching;
  }

  /** Only to who is up to date: the others are told when they have caught up. */
  rest(frame: Buffer): void {
    if (this.isWatching && this.#mode === "live") this.#write(frame);
  }

  close(): void {
    this.#mode = "closed";
    this.#drained?.();
  }

  async #catchUp(): Promise<void> {
    const { page } = this.#limits;
    while (this.#mode === "reading") {
      await this.#room();
      // What is told from here on is held; what was told before is in the file.
      this.#meanwhile = [];
      const facts = await this.#source.read(this.#cursor);
      if (this.#mode !== "reading") return;
      const isSent = this.#sendAll(facts);
      if (!isSent || facts.length >= page || !this.#meanwhile) continue;
      // A reply that ended meanwhile is read with its words.
      if (this.isWatching && this.#meanwhile.some((fact) => fact.seq > this.#cursor && endsReply(fact))) continue;
      if (!this.#sendAll(this.#meanwhile.map(framed))) continue;
      this.#meanwhile = undefined;
      this.#hasMissedWords = false;
      const words = this.#source.live?.() ?? [];
      this.#mode = "live";
      for (const frame of words) this.#write(frame);
    }
  }

  /** False when the socket is too full for all of them: the rest is read again. */
  #sendAll(facts: readonly Framed[]): boolean {
    for (const { seq, frame, words } of facts) {
      if (this.#isFull()) return false;
      if (words && seq > this.#cursor) this.#write(words);
      this.#send(seq, frame);
    }
    return true;
  }

  #send(seq: number, frame: Buffer): void {
    if (seq <= this.#cursor) return;
    this.#cursor = seq;
    this.#write(frame);
  }

  #write(frame: Buffer): void {
    this.#unsent++;
    this.#socket.send(frame, AS_TEXT, this.#onTaken);
  }

  #room(): Promise<void> {
    if (this.#hasRoom()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#drained = resolve;
    });
  }

  #hasRoom(): boolean {
    const { mostWaiting, mostFrames } = this.#limits;
    return this.#socket.bufferedAmount <= mostWaiting / 4 && this.#unsent <= mostFrames / 4;
  }

  #isFull(): boolean {
    const { mostWaiting, mostFrames } = this.#limits;
    return this.#socket.bufferedAmount > mostWaiting || this.#unsent > mostFrames;
  }

  readonly #onTaken = (error?: Error | null): void => {
    this.#unsent--;
    if (error) return;
    this.alive = true;
    if (this.#mode === "live" || !this.#hasRoom()) return;
    if (this.#mode === "behind") this.begin();
    else this.#drained?.();
  };
}

/** A fact as it is sent. */
interface Framed {
  seq: number;
  fact: Fact;
  frame: Buffer;
  /** What was said in the reply that it ends, for whoever watches. */
  words?: Buffer;
}

/**
 * The pages that were read last. Those who begin together read the same ones. A page that ends with the file is never
 * shared: facts may have come since it was read that the next reader was not told.
 */
class Pages {
  readonly #log: FeedSource["log"];
  readonly #last = new Map<number, Promise<readonly Framed[]>>();

  constructor(log: FeedSource["log"]) {
    this.#log = log;
  }

  async read(after: number, limit: number): Promise<readonly Framed[]> {
    const known = await this.#last.get(after)?.catch(() => undefined);
    if (known && known.length >= limit) return known;
    const reading = this.#log.read({ after, limit }).then((facts) => facts.map(framed));
    this.#last.set(after, reading);
    if (this.#last.size > KEPT_PAGES) this.#last.delete(this.#last.keys().next().value ?? after);
    try {
      const facts = await reading;
      const bytes = facts.reduce((sum, { frame }) => sum + frame.length, 0);
      if (facts.length < limit || bytes > LARGEST_PAGE) this.#last.delete(after);
      return facts;
    } catch (error) {
      this.#last.delete(after);
      throw error;
    }
  }
}

const KEPT_PAGES = 4;
const LARGEST_PAGE = 512 * 1024;

/** Limits how many run at a time; the others wait in order. After each, other work in the event loop comes first. */
export class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      setImmediate(() => {
        const next = this.#waiting.shift();
        if (next) next();
        else this.#free++;
      });
    }
  }
}

function framed(fact: Fact): Framed {
  return { seq: fact.seq, fact, frame: frameOf(fact) };
}

function endsReply({ type }: Fact): boolean {
  return type === "model.responded";
}

function frameOf({ seq, type, agent_id, ts, data, actor }: Fact): Buffer {
  return Buffer.from(JSON.stringify({ seq, type, agent_id, ts, data, actor }));
}

const AS_TEXT = { binary: false, compress: false };
