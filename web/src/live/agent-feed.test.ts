import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { begin } from "../../../src/projections/index.ts";
import type { Fact, NewFact } from "../../../src/protocol/index.ts";
import { AgentFeed } from "./agent-feed.ts";

/** A socket that a test speaks through. */
class TestSocket {
  static all: TestSocket[] = [];
  readonly address: string;
  onopen = () => {};
  onmessage = (_: { data: string }) => {};
  onclose = (_: { code: number }) => {};
  constructor(url: URL) {
    this.address = `${url.pathname}${url.search}`;
    TestSocket.all.push(this);
  }
  say(...frames: unknown[]): void {
    for (const frame of frames) this.onmessage({ data: JSON.stringify(frame) });
  }
  close(): void {
    this.onclose({ code: 1006 });
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  const place = { addEventListener() {}, removeEventListener() {} };
  vi.stubGlobal("WebSocket", TestSocket);
  vi.stubGlobal("window", place);
  vi.stubGlobal("document", { ...place, hidden: false });
  vi.stubGlobal("location", { href: "http://127.0.0.1:4747/ui/" });
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run, 16));
  TestSocket.all = [];
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test("what a snapshot holds is shown and not folded again, and what comes twice counts once", () => {
  const { feed, socket } = opened();
  socket.say(snapshotAt(2), call(1), call(2), call(3), call(3), call(4));
  expect(seqsOf(feed)).toEqual([1, 2, 3, 4]);
  expect(feed.newest).toBe(4);
});

test("where a fact is missing, or the connection is lost, it goes on from what it has, with everything in sight", () => {
  const { feed, socket } = opened();
  socket.say(snapshotAt(1), call(1), call(2), call(4));
  expect([feed.standing, seqsOf(feed)]).toEqual(["lost", [1, 2]]);
  vi.advanceTimersByTime(1000);
  const again = TestSocket.all.at(-1);
  expect(again?.address).toBe("/agents/agent-test/events?after=2");
  again?.onopen();
  again?.say(call(3), call(4));
  expect([feed.standing, seqsOf(feed)]).toEqual(["live", [1, 2, 3, 4]]);
});

test("words are merged as they come and go when the reply is on record, also before the fact that it was asked", () => {
  const { feed, socket } = opened();
  const delta = (text: string) => ({ type: "delta", worker_id: "alice", kind: "text", text });
  const who = { worker_id: "alice", node_id: null, model: "m", turn: 1 };
  const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 };
  socket.say(snapshotAt(1), delta("Hel"), numbered(2, { type: "model.called", data: who }), delta("lo"));
  expect(feed.words.get("alice")?.text).toBe("Hello");
  socket.say(numbered(3, { type: "model.responded", data: { ...who, usage, cost_usd: null, finish: "stop", ms: 1 } }));
  expect(feed.words.has("alice")).toBe(false);
});

test("what the person says is shown at once and taken off when the log has it, once for each time it was said", () => {
  const { feed, socket } = opened();
  socket.say(snapshotAt(1));
  feed.expect({ to: "alice", text: "Hi", isHint: false });
  feed.expect({ to: "alice", text: "Hi", isHint: false });
  const sent = { from: "human", to: "alice", text: "Hi", file: "", hops: 1 };
  socket.say(numbered(2, { type: "message.sent", data: { message_id: "m1", ...sent } }));
  expect(feed.pending.map(({ text }) => text)).toEqual(["Hi"]);
});

test("listeners are told once a frame, however much comes", () => {
  const { feed, socket } = opened();
  const told = vi.fn();
  feed.subscribe(told);
  socket.say(snapshotAt(1), ...Array.from({ length: 200 }, (_, n) => call(n + 2)));
  vi.advanceTimersByTime(16);
  expect(told).toHaveBeenCalledTimes(1);
});

function opened() {
  const feed = new AgentFeed("agent-test");
  const [socket] = TestSocket.all;
  if (!socket) throw new Error("It did not connect.");
  socket.onopen();
  return { feed, socket };
}

function seqsOf(feed: AgentFeed): number[] {
  return feed.facts.map(({ seq }) => seq);
}

function numbered(seq: number, fact: NewFact): Fact {
  return { ...fact, seq, ts: seq, agent_id: "agent-test" } as Fact;
}

function call(seq: number): Fact {
  const who = { worker_id: "alice", node_id: null };
  return numbered(seq, { type: "tool.called", data: { ...who, call_id: `c${seq}`, tool: "t", gist: "" } });
}

function snapshotAt(seq: number) {
  const data = {
    name: "A",
    goal: "G",
    mode: "finite",
    model: "m",
    worker_model: "m",
    budget_usd: null,
    project: null,
    tools: null,
  } as const;
  return { type: "snapshot", seq, situation: { ...begin(numbered(1, { type: "agent.created", data })), seq } };
}
