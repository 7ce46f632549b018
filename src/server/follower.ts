import type { WebSocket } from "ws";
import type { Fact } from "../protocol/index.ts";
import { type FramedFact, framed } from "./fact-pages.ts";

export interface FeedLimits {
  /** So many bytes may wait in a socket before its follower is put back to its cursor. */
  mostWaiting: number;
  /** And so many frames: each costs memory of its own, however small it is. */
  mostFrames: number;
  /** Facts read from the file at a time, and held while the last of them are read. */
  page: number;
}

/** Where a follower gets what it has missed. */
interface MissedFacts {
  read(after: number): Promise<readonly FramedFact[]>;
  /** For anyone who watches, when it has caught up: what it hears first. */
  live: (() => Buffer[]) | undefined;
}

/** One client that follows an agent: a socket and a cursor. What it is promised is in `event-feed.ts`. */
export class Follower {
  readonly #socket: WebSocket;
  readonly #source: MissedFacts;
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

  constructor(socket: WebSocket, after: number, limits: FeedLimits, source: MissedFacts) {
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
  #sendAll(facts: readonly FramedFact[]): boolean {
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

function endsReply({ type }: Fact): boolean {
  return type === "model.responded";
}

const AS_TEXT = { binary: false, compress: false };
