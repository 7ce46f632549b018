import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { NewFact } from "../protocol/index.ts";
import { temporaryHome } from "../testing/temporary-home.ts";
import { NewerVersionError, NotFoundError, ReadOnlyError } from "./errors.ts";
import { openStore } from "./open-store.ts";
import type { AgentLog, Store } from "./store.ts";
import { testStore } from "./testing/store-suite.ts";

const ID = "agent-abcd";
const clock = { now: () => 1_700_000_000_123.4 };

testStore("files", async () => {
  const home = await temporaryHome();
  let store = await openStore({ root: home.path, clock });
  onTestFinished(async () => {
    await store.close();
    await home.remove();
  });
  const reopen = async () => {
    await store.close();
    expect(readdirSync(join(home.path, "journal"))).toEqual([]);
    store = await openStore({ root: home.path, clock });
    return store;
  };
  return { store, reopen };
});

test("all that a home holds is for its owner alone", async () => {
  const { log, home } = await newAgent();
  const entries = [{ role: "user", from: "human", content: "Hello" } as const];
  const { facts, durable } = log.append({ facts: [paused], entries: { file: "conversation.jsonl", entries } });
  expect(facts.map(({ ts }) => ts)).toEqual([1_700_000_000.123]);
  await durable;
  expect(modes(home)).toEqual({ dirs: ["700"], files: ["600"] });
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
