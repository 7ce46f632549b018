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

test("listeners are told once a frame, but the version changes with what is read (PAGE-FEED-3)", () => {
  const { feed, socket } = opened();
  vi.advanceTimersByTime(16);
  let told = 0;
  feed.subscribe(() => {
    told += 1;
  });
  const before = feed.version;
  socket.say(snapshotAt(1), call(1));
  expect([feed.newest, feed.version > before, told]).toEqual([1, true, 0]);
  const shown = feed.version;
  socket.say(call(2));
  expect([feed.newest, feed.version > shown, told]).toEqual([2, true, 0]);
  vi.advanceTimersByTime(16);
  expect(told).toBe(1);
});

test("where a fact is missing, or the connection is lost, it goes on from what it has, with everything in sight", () => {
  const { feed, socket } = opened();
  socket.say(snapshotAt(1), call(1), call(2), call(4));
  expect([feed.state, seqsOf(feed)]).toEqual(["lost", [1, 2]]);
  vi.advanceTimersByTime(1000);
  const again = TestSocket.all.at(-1);
  expect(again?.address).toBe("/agents/agent-test/events?after=1");
  again?.onopen();
  again?.say(call(2), call(3), call(4));
  expect([feed.state, seqsOf(feed)]).toEqual(["live", [1, 2, 3, 4]]);
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

test("what the log has takes off what was said to the same one, and nothing else with the same words", () => {
  const { feed, socket } = opened();
  socket.say(snapshotAt(1));
  const refused = feed.expect({ to: "alice", text: "Yes", isHint: false });
  feed.refused(refused, "Alice has retired.");
  feed.expect({ to: "bob", text: "Yes", isHint: false });
  feed.expect({ to: "coordinator", text: "Yes", isHint: true });
  feed.expect({ to: "*", text: "Next goal", isHint: false });
  const left = () => feed.pending.map(({ to, isHint }) => `${to}${isHint ? " (hint)" : ""}`);
  const answer = { question_id: "q1", worker_id: "carol", text: "Yes", channel: "web" } as const;
  socket.say(numbered(2, { type: "human.response", data: answer }));
  expect(left()).toEqual(["alice", "bob", "coordinator (hint)", "*"]);
  const sent = { message_id: "m1", from: "human", to: "bob", text: "Yes", file: "", hops: 1 } as const;
  socket.say(numbered(3, { type: "message.sent", data: sent }));
  expect(left()).toEqual(["alice", "coordinator (hint)", "*"]);
  socket.say(numbered(4, { type: "human.nudge", data: { text: "Yes", channel: "web" } }));
  expect(left()).toEqual(["alice", "*"]);
  // To an agent that has finished, what is said to everyone is its next goal.
  socket.say(numbered(5, { type: "run.started", data: { run_id: "run-2", goal: "Next goal" } }));
  expect(left()).toEqual(["alice"]);
});

test("a worker named like what every object has is a worker like any other", () => {
  const { feed, socket } = opened();
  socket.say(snapshotAt(1));
  const { roster, spending } = feed.situation ?? {};
  expect([roster?.constructor, spending?.by_worker.constructor]).toEqual([undefined, undefined]);
  const data = {
    run_id: "run-1",
    worker_id: "constructor",
    name: "Constructor",
    kind: "harnessed",
    model: "m",
  } as const;
  const usage = { input: 3, output: 4, cache_read: 0, cache_write: 0, reasoning: 0 };
  const replied = { worker_id: "constructor", node_id: null, model: "m", turn: 1, usage, cost_usd: null } as const;
  socket.say(numbered(2, { type: "worker.spawned", data }));
  socket.say(numbered(3, { type: "model.responded", data: { ...replied, finish: "stop", ms: 1 } }));
  expect([roster?.constructor, spending?.by_worker.constructor]).toMatchObject([
    { spawned: { name: "Constructor" } },
    { calls: 1, usage: { input: 3, output: 4 } },
  ]);
});

test("listeners are told once a frame, however much comes", () => {
  const { feed, socket } = opened();
  const told = vi.fn();
  feed.subscribe(told);
  socket.say(snapshotAt(1), ...Array.from({ length: 200 }, (_, n) => call(n + 2)));
  vi.advanceTimersByTime(16);
  expect(told).toHaveBeenCalledTimes(1);
});

test("a log that is another than it was is begun anew, with what was shown in sight until then", () => {
  const { feed, socket } = opened();
  socket.say(snapshotAt(3), call(1), call(2), call(3));
  socket.onclose({ code: 1006 });
  const second = reconnected();
  expect(second?.address).toBe("/agents/agent-test/events?after=2");
  second?.say({ ...call(3), ts: 99 });
  expect([seqsOf(feed), feed.newest]).toEqual([[1, 2, 3], 3]);
  const third = reconnected();
  expect(third?.address).toBe("/agents/agent-test/events?snapshot=1&recent=300");
  third?.say(snapshotAt(2), call(1), call(2));
  expect([seqsOf(feed), feed.newest, feed.state, feed.life]).toEqual([[1, 2], 2, "live", 1]);
});

test("what was on its way while the log was begun anew is not said to be on its way for ever", () => {
  const { feed, socket } = opened();
  socket.say(snapshotAt(3), call(1), call(2), call(3));
  const pending = feed.expect({ to: "alice", text: "Hi", isHint: false });
  socket.onclose({ code: 4400 });
  const sent = { message_id: "m1", from: "human", to: "alice", text: "Hi", file: "", hops: 1 } as const;
  // The new log has it before the server has answered; what it says is not folded again, and so tells of nothing.
  reconnected()?.say(snapshotAt(2), call(1), numbered(2, { type: "message.sent", data: sent }));
  expect(feed.pending.map(({ text }) => text)).toEqual(["Hi"]);
  feed.taken(pending);
  expect(feed.pending).toEqual([]);
});

test("where the server's log is shorter than what is shown, that is no agent that is gone", () => {
  const { feed, socket } = opened();
  socket.say(snapshotAt(3), call(1), call(2), call(3));
  socket.onclose({ code: 4400 });
  expect([feed.state, seqsOf(feed)]).toEqual(["lost", [1, 2, 3]]);
  expect(reconnected()?.address).toBe("/agents/agent-test/events?snapshot=1&recent=300");
  TestSocket.all.at(-1)?.onclose({ code: 4404 });
  expect(feed.state).toBe("gone");
});

test("a fact that is missing for good is asked for once, and then done without", () => {
  const { feed, socket } = opened();
  socket.say(snapshotAt(2), call(1), call(2), call(4));
  reconnected()?.say(call(2), call(4));
  expect(reconnected()?.address).toContain("snapshot=1");
  TestSocket.all.at(-1)?.say(snapshotAt(5), call(1), call(2), call(4), call(5), call(6));
  expect([seqsOf(feed), feed.newest]).toEqual([[4, 5, 6], 6]);
  vi.advanceTimersByTime(60_000);
  expect(TestSocket.all).toHaveLength(3);
});

test("garbage, and facts of a kind that this page does not know, cost nothing but themselves", () => {
  const { feed, socket } = opened();
  socket.say(snapshotAt(1), call(1));
  for (const data of [
    "",
    "{",
    "null",
    "[]",
    "<html>",
    '{"type":7}',
    '{"type":"snapshot"}',
    '{"type":"snapshot","situation":{}}',
  ])
    socket.onmessage({ data });
  socket.say({ seq: 2, type: "x", data: null, ts: 1 }, { seq: 2, type: "x", data: {}, ts: "now" });
  socket.say({ seq: 2, ts: 2, type: "node.dreamt", agent_id: "agent-test", data: { of: { sheep: [1] } } }, call(3));
  socket.say({ seq: 4, ts: 4, type: "node.created", agent_id: "agent-test", data: {} }, call(5));
  expect([seqsOf(feed), feed.newest]).toEqual([[1, 2, 3, 4, 5], 5]);
});

test("a server that closes each connection with a reason is asked less and less often", () => {
  let { socket } = opened();
  socket.onclose({ code: 1011 });
  for (let second = 0; second < 60; second++) {
    vi.advanceTimersByTime(1000);
    const next = TestSocket.all.at(-1);
    if (!next || next === socket) continue;
    socket = next;
    socket.onopen();
    socket.say(snapshotAt(1));
    socket.onclose({ code: 1011 });
  }
  expect(TestSocket.all.length).toBeLessThan(35);
});

test("where nobody has listened for a minute it rests, and goes on from there when somebody does", () => {
  const { feed, socket, leave } = opened();
  socket.say(snapshotAt(1), call(1));
  leave();
  vi.advanceTimersByTime(59_000);
  const back = feed.subscribe(() => {});
  vi.advanceTimersByTime(120_000);
  socket.say(call(2));
  expect(seqsOf(feed)).toEqual([1, 2]);
  back();
  vi.advanceTimersByTime(120_000);
  socket.say(call(3));
  expect([seqsOf(feed), feed.state, TestSocket.all.length]).toEqual([[1, 2], "live", 1]);
  feed.subscribe(() => {});
  const again = TestSocket.all[1];
  expect(again?.address).toBe("/agents/agent-test/events?after=1");
  again?.onopen();
  again?.say(call(2), call(3));
  expect([seqsOf(feed), feed.state]).toEqual([[1, 2, 3], "live"]);
});

test("a connection that stood long, though nothing came, is made anew at once", () => {
  const { socket } = opened();
  let last = socket;
  for (let loss = 1; loss <= 6; loss++) {
    vi.advanceTimersByTime(10_000);
    last.onclose({ code: 1006 });
    vi.advanceTimersByTime(400);
    expect(TestSocket.all).toHaveLength(loss + 1);
    last = TestSocket.all.at(-1) ?? last;
    last.onopen();
  }
});

test("what the server has taken is not shown as unsent when the log is begun anew; what it has not stays", () => {
  const { feed, socket } = opened();
  socket.say(snapshotAt(1), call(1));
  feed.taken(feed.expect({ to: "alice", text: "Taken", isHint: false }));
  feed.expect({ to: "alice", text: "Not taken", isHint: false });
  socket.onclose({ code: 4400 });
  reconnected()?.say(snapshotAt(2), call(1), call(2));
  expect(feed.pending.map(({ text }) => text)).toEqual(["Not taken"]);
});

test("what the server has not taken outlives the page, and what the log has is not brought back", () => {
  const stored = new Map<string, string>();
  vi.stubGlobal("sessionStorage", {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
    removeItem: (key: string) => stored.delete(key),
  });
  const { feed, socket } = opened();
  socket.say(snapshotAt(1), call(1));
  feed.expect({ to: "alice", text: "Refused", isHint: true });
  feed.expect({ to: "alice", text: "On record", isHint: false });
  const dropped = feed.expect({ to: "alice", text: "Dropped", isHint: false });
  feed.taken(feed.expect({ to: "alice", text: "Taken", isHint: false }));
  feed.forget(dropped);
  // The log may tell of it before the server has answered, and the page may be left in between.
  const said = { message_id: "msg-1", from: "human", to: "alice", text: "On record", file: "", hops: 1 } as const;
  socket.say(numbered(2, { type: "message.sent", data: said }));
  const later = new AgentFeed("agent-test");
  expect(later.pending).toEqual([
    {
      key: expect.any(String),
      to: "alice",
      text: "Refused",
      isHint: true,
      problem: expect.any(String),
      life: 0,
      isTaken: false,
    },
  ]);
  expect(new AgentFeed("agent-other").pending).toEqual([]);
});

test("names come in as they can be seen", () => {
  const { feed, socket } = opened();
  const data = { run_id: "run-1", worker_id: "ali-ce", name: "Ali\u202Ece", kind: "harnessed", model: "m" } as const;
  socket.say(snapshotAt(1), numbered(2, { type: "worker.spawned", data }));
  expect(feed.situation?.roster["ali-ce"]?.spawned.name).toBe("Ali⟨U+202E⟩ce");
});

function reconnected(): TestSocket | undefined {
  const before = TestSocket.all.length;
  vi.advanceTimersByTime(20_000);
  const socket = TestSocket.all.at(-1);
  if (TestSocket.all.length === before) return undefined;
  socket?.onopen();
  return socket;
}

function opened() {
  const feed = new AgentFeed("agent-test");
  const [socket] = TestSocket.all;
  if (!socket) throw new Error("It did not connect.");
  socket.onopen();
  const leave = feed.subscribe(() => {});
  return { feed, socket, leave };
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
