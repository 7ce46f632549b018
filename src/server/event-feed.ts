import type { WebSocket } from "ws";
import type { Fact } from "../protocol/index.ts";
import type { SeenAgent } from "../runtime/agent-elsewhere.ts";
import type { Delta } from "../workers/loop/recorded-loop.ts";
import type { ConcurrencyLimit } from "./concurrency-limit.ts";
import { FactPages, type FramedFact, factFrame } from "./fact-pages.ts";
import { type FeedLimits, Follower } from "./follower.ts";
import { spokenWordsOf } from "./spoken-words.ts";

/** What a feed needs from an agent. */
export type FeedSource = SeenAgent;

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
  readonly agent: FeedSource;
  readonly #followers = new Set<Follower>();
  readonly #pages: FactPages;
  readonly #deltas = new Map<string, Delta>();
  readonly #unhear: readonly (() => void)[];
  #flushing: NodeJS.Immediate | undefined;

  constructor(agent: FeedSource) {
    this.agent = agent;
    this.#pages = new FactPages(agent.log);
    this.#unhear = [agent.log.subscribe((fact) => this.#onFact(fact)), agent.onDelta((delta) => this.#onDelta(delta))];
  }

  get size(): number {
    return this.#followers.size;
  }

  join(
    socket: WebSocket,
    { after, isWatching = false }: FollowOptions,
    limits: FeedLimits,
    readers: ConcurrencyLimit,
  ): Follower {
    const page = (from: number) => readers.run(() => this.#pages.read(from, limits.page));
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
      bytes ??= factFrame(fact);
      return bytes;
    };
    for (const follower of this.#followers) follower.hear(fact, frame);
    if (RESTS.has(fact.type)) this.#tellRest([...this.#followers]);
  }

  /** It hears what is said from now on: first what was said of the replies under way. */
  #wordsSoFar(follower: Follower): Buffer[] {
    this.#flush();
    this.#tellRest([follower]);
    return this.agent.saying().map((delta) => this.#frameOf(delta, true));
  }

  #tellRest(followers: readonly Follower[]): void {
    const tell = (error?: string) => {
      const frame = Buffer.from(JSON.stringify({ type: "rest", seq: this.agent.now.seq, error }));
      for (const follower of followers) follower.rest(frame);
    };
    if (followers.some(({ isWatching }) => isWatching))
      this.agent.idle().then(
        () => tell(),
        (error: unknown) => tell(error instanceof Error ? error.message : String(error)),
      );
  }

  async #withWords(page: readonly FramedFact[]): Promise<FramedFact[]> {
    const { log, now } = this.agent;
    const facts = page.map(({ fact }) => fact);
    const words = await spokenWordsOf(facts, log, () => now.roster);
    return page.map((each) => {
      const delta = words.get(each.seq);
      return delta ? { ...each, words: this.#frameOf(delta, true) } : each;
    });
  }

  #frameOf(delta: Delta, isAll = false): Buffer {
    const { id } = this.agent.log;
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
interface FollowOptions {
  after: number;
  isWatching?: boolean;
}

/** After these, perhaps nobody works any more. */
const RESTS: ReadonlySet<string> = new Set(["agent.completed", "agent.failed", "agent.stopped", "agent.paused"]);
