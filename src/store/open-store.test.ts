import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { NewFact } from "../protocol/index.ts";
import { temporaryHome } from "../testing/temporary-home.ts";
import { FenceError, NewerVersionError, NotFoundError, ReadOnlyError } from "./errors.ts";
import { openStore } from "./open-store.ts";
import type { AgentLog, Store } from "./store.ts";

const ID = "agent-abcd";
const clock = { now: () => 1_700_000_000_123.4 };

test("facts and entries get their numbers at once and are in plain files when durable", async () => {
  const { log, home } = await newAgent();
  const { facts, durable } = log.append({
    facts: [paused, stopped("human")],
    entries: { file: "conversation.jsonl", entries: [{ role: "user", from: "human", content: "Hello" }] },
  });
  expect(facts).toEqual([
    { seq: 1, type: "agent.paused", agent_id: ID, ts: 1_700_000_000.123, data: {} },
    { seq: 2, type: "agent.stopped", agent_id: ID, ts: 1_700_000_000.123, data: { by: "human" } },
  ]);
  expect(log.seq).toBe(2);
  await durable;
  expect(
    readFileSync(join(log.dir, "events.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual(facts.map((fact) => ({ ...fact, v: 1, crc: expect.stringMatching(/^[0-9a-f]{8}$/) })));
  expect(await log.read({ after: 0, limit: 10 })).toEqual(facts);
  expect(await log.conversation("conversation.jsonl")).toEqual([
    { seq: 1, ts: 1_700_000_000.123, role: "user", from: "human", content: "Hello" },
  ]);
  expect(await log.conversation("runs/run-1/workers/alice/conversation.jsonl")).toEqual([]);
  expect(modes(home)).toEqual({ dirs: ["700"], files: ["600"] });
});

test("one append may speak in several conversations, in each once", async () => {
  const { log } = await newAgent();
  const said = (worker: string, ...words: string[]) => ({
    file: `runs/run-1/workers/${worker}/conversation.jsonl`,
    entries: words.map((content) => ({ role: "user", from: "human", content }) as const),
  });
  const heard = async (worker: string) =>
    (await log.conversation(said(worker).file)).map((entry) => [entry.seq, "content" in entry && entry.content]);
  await log.append({ entries: said("alice", "One"), otherEntries: [said("bob", "Two", "Three")] }).durable;
  await log.append({ facts: [paused], otherEntries: [said("bob", "Four"), said("alice", "Five")] }).durable;
  expect(() => log.append({ entries: said("bob", "Six"), otherEntries: [said("bob", "Seven")] })).toThrow(
    "names a conversation twice",
  );
  await log.append({ entries: said("bob", "Eight") }).durable;
  expect([await heard("alice"), await heard("bob")]).toEqual([
    [
      [1, "One"],
      [2, "Five"],
    ],
    [
      [1, "Two"],
      [2, "Three"],
      [3, "Four"],
      [4, "Eight"],
    ],
  ]);
});

test("a home that was closed opens with everything in it and no journal", async () => {
  const { store, log, home } = await newAgent();
  await appendMany(log, 10);
  await store.close();
  expect(readdirSync(join(home, "journal"))).toEqual([]);
  const again = await reopen(home);
  expect(await again.store.agents()).toEqual([ID]);
  expect(again.log.seq).toBe(10);
  expect((await again.log.append({ facts: [paused] }).facts)[0]?.seq).toBe(11);
});

test("with a fence an append is refused when the log has moved on, and changes nothing", async () => {
  const { log } = await newAgent();
  await log.append({ facts: [paused], expect: 0 }).durable;
  expect(() => log.append({ facts: [paused], expect: 0 })).toThrow(FenceError);
  expect(log.seq).toBe(1);
  await log.append({ facts: [paused], expect: 1 }).durable;
  expect((await log.read({ after: 0, limit: 9 })).map((fact) => fact.seq)).toEqual([1, 2]);
});

test("what cannot be serialised is refused and leaves no gap", async () => {
  const { log } = await newAgent();
  const loop: { by: string; self?: unknown } = { by: "x" };
  loop.self = loop;
  expect(() => log.append({ facts: [paused, { type: "agent.stopped", data: loop }] })).toThrow(TypeError);
  expect(log.append({ facts: [paused] }).facts.map((fact) => fact.seq)).toEqual([1]);
});

test("pages of history, wherever they begin", async () => {
  const { log } = await newAgent();
  await appendMany(log, 3000);
  const places = Array.from({ length: 230 }, (_, index) => index * 13);
  for (const after of [...places, 1, 2997, 2999, 3000, 5000]) {
    const page = await log.read({ after, limit: 3 });
    expect(page.map((fact) => fact.seq)).toEqual([1, 2, 3].map((step) => after + step).filter((seq) => seq <= 3000));
  }
});

test("a follower sees history, then what is live, each fact once and in order", async () => {
  const { log } = await newAgent();
  await appendMany(log, 700);
  const stop = new AbortController();
  const seen: number[] = [];
  const following = (async () => {
    for await (const fact of log.follow(100, stop.signal)) {
      seen.push(fact.seq);
      if (fact.seq === 6000) stop.abort();
    }
  })();
  for (let round = 0; round < 53; round++) await appendMany(log, 100);
  await following;
  expect(seen).toEqual(Array.from({ length: 5900 }, (_, index) => 101 + index));
});

test("a follower that waits ends when it is told to", async () => {
  const { log } = await newAgent();
  const stop = new AbortController();
  const following = log.follow(0, stop.signal)[Symbol.asyncIterator]();
  const first = following.next();
  await appendMany(log, 1);
  expect(await first).toMatchObject({ value: { seq: 1 }, done: false });
  const next = following.next();
  // Two commits later it surely waits for the third.
  await log.append({ entries: { file: "conversation.jsonl", entries: [] } }).durable;
  await log.append({ entries: { file: "conversation.jsonl", entries: [] } }).durable;
  stop.abort();
  expect(await next).toEqual({ value: undefined, done: true });
});

test("a follower that is ahead of the log hears nothing until the log has passed it", async () => {
  const { log } = await newAgent();
  await appendMany(log, 2);
  const stop = new AbortController();
  const following = log.follow(5, stop.signal)[Symbol.asyncIterator]();
  const first = following.next();
  await appendMany(log, 2);
  await appendMany(log, 2);
  expect(await first).toMatchObject({ value: { seq: 6 } });
  stop.abort();
});

test("who has no use for turns hears of everything else, in order", async () => {
  const { log } = await newAgent();
  const heard: string[] = [];
  const all: string[] = [];
  const unsubscribe = log.subscribe((fact) => heard.push(fact.type), "all but turns");
  log.subscribe((fact) => all.push(fact.type));
  const who = { worker_id: "alice", node_id: null };
  const called: NewFact = { type: "model.called", data: { ...who, model: "m/m", turn: 1 } };
  const tool: NewFact = { type: "tool.called", data: { ...who, call_id: "c", tool: "look", gist: "" } };
  await log.append({ facts: [paused, called, tool, stopped("human")] }).durable;
  unsubscribe();
  await log.append({ facts: [paused] }).durable;

  expect(heard).toEqual(["agent.paused", "agent.stopped"]);
  expect(all).toEqual(["agent.paused", "model.called", "tool.called", "agent.stopped", "agent.paused"]);
});

test("subscribers are told once it is on disk, before the appender", async () => {
  const { log } = await newAgent();
  const order: string[] = [];
  const unsubscribe = log.subscribe((fact) => order.push(`told ${fact.seq}`));
  const first = log.append({ facts: [paused, paused] });
  expect(order).toEqual([]);
  await first.durable.then(() => order.push("durable"));
  unsubscribe();
  await log.append({ facts: [paused] }).durable;
  expect(order).toEqual(["told 1", "told 2", "durable"]);
});

test("a snapshot is there until the version or the log is another", async () => {
  const { store, log, home } = await newAgent();
  expect(await log.snapshot("board", 1)).toBeUndefined();
  log.append({ facts: [paused, stopped("human")] });
  await log.saveSnapshot("board", 1, 2, { nodes: 3 });
  expect(await log.snapshot("board", 1)).toEqual({ seq: 2, state: { nodes: 3 } });
  expect(await log.snapshot("board", 2)).toBeUndefined();
  expect(await log.snapshot("roster", 1)).toBeUndefined();
  await expect(log.saveSnapshot("board", 1, 3, {})).rejects.toThrow("has no fact 3 on disk");
  await store.close();

  const path = join(log.dir, "snapshots/board.json");
  const bytes = readFileSync(path);
  flip(path, 30);
  const damaged = await reopen(home);
  expect(await damaged.log.snapshot("board", 1)).toBeUndefined();
  await damaged.store.close();
  writeFileSync(path, bytes);
  // Fact 2 is another one now, so what was folded from the old one does not hold.
  const events = join(log.dir, "events.jsonl");
  writeFileSync(events, readFileSync(events, "utf8").split("\n").slice(0, 1).join("\n").concat("\n"));
  const shorter = await reopen(home);
  await shorter.log.append({ facts: [stopped("somebody")] }).durable;
  expect(await shorter.log.snapshot("board", 1)).toBeUndefined();
});

test("an agent that was let go is opened again as it was", async () => {
  const { store, log } = await newAgent();
  log.append({ facts: [paused] });
  await log.close();
  expect(() => log.append({ facts: [paused] })).toThrow("was closed; open it again");
  const again = await store.open(ID);
  expect(again.append({ facts: [paused] }).facts.map((fact) => fact.seq)).toEqual([2]);
  expect(await store.open(ID)).toBe(again);
});

test("an agent that is not there, an id that leads elsewhere, a second creation", async () => {
  const { store } = await newAgent();
  await expect(store.open("agent-none")).rejects.toThrow(NotFoundError);
  await expect(store.open("agent-../x" as typeof ID)).rejects.toThrow(NotFoundError);
  await expect(store.create("agent-../x" as typeof ID)).rejects.toThrow("is not an agent id");
  await expect(store.create(ID)).rejects.toThrow("already exists");
});

test("a conversation's name must not lead out of the agent's folder", async () => {
  const { log } = await newAgent();
  for (const file of [
    "../x.jsonl",
    "/x.jsonl",
    "a/../../x.jsonl",
    "events.jsonl",
    "x.txt",
    "",
    "a//b.jsonl",
    "./a.jsonl",
    "a\0.jsonl",
  ]) {
    await expect(log.conversation(file), file).rejects.toThrow("is not a conversation file");
    expect(() => log.append({ entries: { file, entries: [] } }), file).toThrow("is not a conversation file");
  }
});

test("a home opened only to look needs no lock and is not written to", async () => {
  const { store, log, home } = await newAgent();
  await appendMany(log, 3);
  const torn = join(log.dir, "conversation.jsonl");
  writeFileSync(torn, '{"seq":1,"half');
  const before = readdirSync(home, { recursive: true });
  const look = await openStore({ root: home, clock, readOnly: true });
  const seen = await look.open(ID);
  expect((await seen.read({ after: 0, limit: 9 })).map((fact) => fact.seq)).toEqual([1, 2, 3]);
  expect(await seen.conversation("conversation.jsonl")).toEqual([]);
  expect(() => seen.append({ facts: [paused] })).toThrow(ReadOnlyError);
  await expect(look.create("agent-efgh")).rejects.toThrow(ReadOnlyError);
  await look.close();
  expect(readdirSync(home, { recursive: true })).toEqual(before);
  await store.close();
  await expect(openStore({ root: join(home, "elsewhere"), clock, readOnly: true })).rejects.toThrow(NotFoundError);
});

test("who only looks can follow what another process appends", async () => {
  const { log, home } = await newAgent();
  await appendMany(log, 2);
  const look = await openStore({ root: home, clock, readOnly: true });
  const stop = new AbortController();
  const following = (await look.open(ID)).follow(0, stop.signal)[Symbol.asyncIterator]();
  const seen = [await following.next(), await following.next()];
  const next = following.next();
  await appendMany(log, 1);
  seen.push(await next);
  expect(seen.map(({ value }) => value.seq)).toEqual([1, 2, 3]);
  stop.abort();
});

test("a home of a newer version is refused and left as it is", async () => {
  await using home = await temporaryHome();
  mkdirSync(join(home.path, "agents"));
  writeFileSync(join(home.path, "VERSION"), "2\n");
  await expect(openStore({ root: home.path, clock })).rejects.toThrow(NewerVersionError);
  await expect(openStore({ root: home.path, clock, readOnly: true })).rejects.toThrow("update Agiraph to open it");
  expect(readFileSync(join(home.path, "VERSION"), "utf8")).toBe("2\n");
});

const paused: NewFact = { type: "agent.paused", data: {} };
const stopped = (by: string): NewFact => ({ type: "agent.stopped", data: { by } });

test("an agent's folder that was taken away by hand keeps nobody else from being recorded", async () => {
  const root = (await temporaryHome()).path;
  const store = await openStore({ root, clock, journalLimit: 1000 });
  onTestFinished(async () => {
    await store.close();
    rmSync(root, { recursive: true });
  });
  const gone = await store.create("agent-gone");
  await gone.append({ facts: [paused] }).durable;
  await gone.close();
  rmSync(gone.dir, { recursive: true });
  const log = await store.create(ID);
  for (let n = 0; n < 50; n++) await log.append({ facts: [paused, stopped("human")] }).durable;
  expect([log.seq, store.writeError]).toEqual([100, undefined]);
});

async function newAgent(): Promise<{ store: Store; log: AgentLog; home: string }> {
  const home = await temporaryHome();
  const store = await openStore({ root: home.path, clock });
  onTestFinished(async () => {
    await store.close();
    await home.remove();
  });
  return { store, log: await store.create(ID), home: home.path };
}

async function reopen(root: string): Promise<{ store: Store; log: AgentLog }> {
  const store = await openStore({ root, clock });
  onTestFinished(() => store.close());
  return { store, log: await store.open(ID) };
}

function appendMany(log: AgentLog, count: number): Promise<unknown> {
  return Promise.all(Array.from({ length: count }, () => log.append({ facts: [paused] }).durable));
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

function modes(root: string): { dirs: string[]; files: string[] } {
  const dirs = new Set<string>();
  const files = new Set<string>();
  for (const name of ["", ...readdirSync(root, { recursive: true, encoding: "utf8" })]) {
    const stat = statSync(join(root, name));
    (stat.isDirectory() ? dirs : files).add((stat.mode & 0o777).toString(8));
  }
  return { dirs: [...dirs], files: [...files] };
}
