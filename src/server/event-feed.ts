import type { WebSocket } from "ws";
import type { Fact } from "../protocol/index.ts";
import type { Agent } from "../runtime/agent.ts";
import type { Delta } from "../workers/carry-out.ts";

/** What a feed needs of an agent. */
export type Watched = Pick<Agent, "log" | "onDelta">;

export interface FeedLimits {
  /** So many bytes may wait in a socket before its follower is put back to its cursor. */
  mostWaiting: number;
  /** Facts read from the file at a time, and held while the last of them are read. */
  page: number;
}

/**
 * One agent's facts and streamed words, to everybody who looks on.
 *
 * E1. A follower gets each fact after its cursor once, in order: from the file first, then as they come.
 * E2. An agent never waits for a follower, and nothing is kept for one that is slow: it is put back to its cursor and
 *     reads from the file again when it has taken what it was sent.
 * E3. Streamed words go only to those who are up to date, before the fact they lead to, and are never sent late.
 * E4. A fact is made into bytes once, for all who follow.
 */
export class Feed {
  readonly #agent: Watched;
  readonly #followers = new Set<Follower>();
  readonly #deltas = new Map<string, Delta>();
  readonly #unhear: readonly (() => void)[];
  #flushing: NodeJS.Immediate | undefined;

  constructor(agent: Watched) {
    this.#agent = agent;
    this.#unhear = [agent.log.subscribe((fact) => this.#onFact(fact)), agent.onDelta((delta) => this.#onDelta(delta))];
  }

  get size(): number {
    return this.#followers.size;
  }

  join(socket: WebSocket, after: number, limits: FeedLimits): Follower {
    const follower = new Follower(socket, this.#agent.log, after, limits);
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
      const frame = Buffer.from(JSON.stringify({ type: "delta", agent_id: this.#agent.log.id, ...delta }));
      for (const follower of this.#followers) follower.overhear(frame);
    }
    this.#deltas.clear();
  }
}

/** One who looks on. */
export class Follower {
  readonly #socket: WebSocket;
  readonly #log: Watched["log"];
  readonly #limits: FeedLimits;
  #cursor: number;
  #mode: "reading" | "live" | "behind" | "closed" = "behind";
  /** What comes while the file is read, unless it is too much. */
  #meanwhile: Fact[] | undefined;
  #drained: (() => void) | undefined;
  /** Whether it took anything, or answered, since somebody last asked. */
  alive = true;

  constructor(socket: WebSocket, log: Watched["log"], after: number, limits: FeedLimits) {
    this.#socket = socket;
    this.#log = log;
    this.#cursor = after;
    this.#limits = limits;
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
      if (this.#socket.bufferedAmount > this.#limits.mostWaiting) this.#mode = "behind";
      else this.#send(fact.seq, frame());
    }
  }

  overhear(frame: Buffer): void {
    // Words are worth less than facts: they give way long before a follower is put back.
    if (this.#mode === "live" && this.#socket.bufferedAmount <= this.#limits.mostWaiting / 4) this.#write(frame);
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
      const facts = await this.#log.read({ after: this.#cursor, limit: page });
      if (this.#mode !== "reading") return;
      const isSent = this.#sendAll(facts);
      if (!isSent || facts.length >= page || !this.#meanwhile || !this.#sendAll(this.#meanwhile)) continue;
      this.#meanwhile = undefined;
      this.#mode = "live";
    }
  }

  /** False when the socket is too full for all of them: the rest is read again. */
  #sendAll(facts: readonly Fact[]): boolean {
    for (const fact of facts) {
      if (this.#socket.bufferedAmount > this.#limits.mostWaiting) return false;
      this.#send(fact.seq, frameOf(fact));
    }
    return true;
  }

  #send(seq: number, frame: Buffer): void {
    if (seq <= this.#cursor) return;
    this.#cursor = seq;
    this.#write(frame);
  }

  #write(frame: Buffer): void {
    this.#socket.send(frame, AS_TEXT, this.#onTaken);
  }

  #room(): Promise<void> {
    if (this.#hasRoom()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#drained = resolve;
    });
  }

  #hasRoom(): boolean {
    return this.#socket.bufferedAmount <= this.#limits.mostWaiting / 4;
  }

  readonly #onTaken = (error?: Error | null): void => {
    if (error) return;
    this.alive = true;
    if (this.#mode === "live" || !this.#hasRoom()) return;
    if (this.#mode === "behind") this.begin();
    else this.#drained?.();
  };
}

function frameOf({ seq, type, agent_id, ts, data }: Fact): Buffer {
  return Buffer.from(JSON.stringify({ seq, type, agent_id, ts, data }));
}

const AS_TEXT = { binary: false, compress: false };
