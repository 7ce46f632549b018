import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import type { Fact } from "../protocol/index.ts";
import type { Delta } from "../workers/loop/recorded-loop.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import { Feed, type FeedSource } from "./event-feed.ts";

const LIMITS = { mostWaiting: 1000, mostFrames: 1000, page: 10 };

test("a fact that is told while it is read arrives once", async () => {
  const agent = new PretendedAgent();
  agent.tell(1);
  const { socket, sent } = pretendedSocket();
  const feed = new Feed(agent.watched);
  feed.join(socket, { after: 0 }, LIMITS, new ConcurrencyLimit(4)).begin();
  await agent.asked;
  agent.tell(2);
  agent.answer();
  await agent.drained();
  agent.tell(3);
  expect(sent()).toEqual([fact(1), fact(2), fact(3)]);
});

test("streamed words come before the fact they lead to, those of one tick in one frame for each who speaks", async () => {
  const agent = new PretendedAgent();
  const { socket, sent } = pretendedSocket();
  const feed = new Feed(agent.watched);
  feed.join(socket, { after: 0 }, LIMITS, new ConcurrencyLimit(4)).begin();
  await agent.asked;
  agent.answer();
  await agent.drained();
  agent.say("ada", "Good ");
  agent.say("ben", "Hm.");
  agent.say("ada", "morning");
  agent.tell(1);
  expect(sent()).toEqual([
    { type: "delta", agent_id: "agent-pretended", worker_id: "ada", node_id: null, kind: "text", text: "Good morning" },
    { type: "delta", agent_id: "agent-pretended", worker_id: "ben", node_id: null, kind: "text", text: "Hm." },
    fact(1),
  ]);
});

test("when nobody follows any more, nobody listens to the agent", () => {
  const agent = new PretendedAgent();
  const feed = new Feed(agent.watched);
  feed.close();
  expect(agent.listeners).toBe(0);
});

/** An agent whose log is read slowly: the page holds whatever is there when the answer comes. */
class PretendedAgent {
  readonly asked: Promise<void>;
  readonly #facts: Fact[] = [];
  readonly #onFact = new Set<(fact: Fact) => void>();
  readonly #onDelta = new Set<(delta: Delta) => void>();
  #ask = () => {};
  #answers: (() => void)[] = [];

  constructor() {
    this.asked = new Promise((resolve) => {
      this.#ask = resolve;
    });
  }

  get watched(): FeedSource {
    const read = ({ after }: { after: number }) =>
      new Promise<Fact[]>((resolve) => {
        this.#answers.push(() => resolve(this.#facts.filter(({ seq }) => seq > after)));
        this.#ask();
      });
    const subscribe = (listener: (fact: Fact) => void) => joined(this.#onFact, listener);
    const log = { id: "agent-pretended", read, subscribe } as unknown as FeedSource["log"];
    const onDelta = (listener: (delta: Delta) => void) => joined(this.#onDelta, listener);
    const now = { seq: 0, roster: {} } as unknown as FeedSource["now"];
    return { log, onDelta, now, saying: () => [], ended: new AbortController().signal, idle: async () => {} };
  }

  get listeners(): number {
    return this.#onFact.size + this.#onDelta.size;
  }

  tell(seq: number): void {
    this.#facts.push(fact(seq));
    for (const listener of this.#onFact) listener(fact(seq));
  }

  say(worker_id: string, text: string): void {
    for (const listener of this.#onDelta) listener({ worker_id, node_id: null, kind: "text", text });
  }

  answer(): void {
    for (const answer of this.#answers.splice(0)) answer();
  }

  drained(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }
}

function joined<T>(set: Set<T>, one: T): () => void {
  set.add(one);
  return () => set.delete(one);
}

function pretendedSocket() {
  const frames: string[] = [];
  const socket = { bufferedAmount: 0, send: (frame: Buffer) => frames.push(String(frame)) } as unknown as WebSocket;
  return { socket, sent: () => frames.map((frame) => JSON.parse(frame)) };
}

function fact(seq: number): Fact {
  return { seq, type: "agent.resumed", agent_id: "agent-pretended", ts: seq, data: {} };
}
