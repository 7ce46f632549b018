import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { AgentId, NewFact } from "../../protocol/index.ts";
import { FenceError, NotFoundError } from "../errors.ts";
import type { AgentLog, Store } from "../store.ts";

const ID: AgentId = "agent-abcd2345";

export interface OpenedStore {
  store: Store;
  /** Closes it in order, and opens it as another process or host has it then. */
  reopen(): Promise<Store>;
}

/** What every store promises (STORE-1 to STORE-4), wherever it keeps the records. */
export function testStore(what: string, open: () => Promise<OpenedStore>): void {
  const newAgent = async () => {
    const opened = await open();
    return { ...opened, log: await opened.store.create(ID) };
  };

  test(`${what}: facts and entries get their numbers at once and are in plain files when durable`, async () => {
    const { log } = await newAgent();
    const { facts, durable } = log.append({ facts: [paused, stopped("human")], entries: said("coordinator", "Hello") });
    expect(facts.map(({ seq, type, agent_id, data }) => ({ seq, type, agent_id, data }))).toEqual([
      { seq: 1, type: "agent.paused", agent_id: ID, data: {} },
      { seq: 2, type: "agent.stopped", agent_id: ID, data: { by: "human" } },
    ]);
    expect(log.seq).toBe(2);
    await durable;
    const lines = readFileSync(join(log.dir, "events.jsonl"), "utf8").trim().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      facts.map((fact) => ({ ...fact, v: 1, crc: expect.stringMatching(/^[0-9a-f]{8}$/) })),
    );
    expect(await log.read({ after: 0, limit: 10 })).toEqual(facts);
    expect(await wordsTo(log, "coordinator")).toEqual([[1, "Hello"]]);
    expect(await wordsTo(log, "alice")).toEqual([]);
  });

  test(`${what}: one append may speak in several conversations, in each once`, async () => {
    const { log } = await newAgent();
    await log.append({ entries: said("alice", "One"), otherEntries: [said("bob", "Two", "Three")] }).durable;
    await log.append({ facts: [paused], otherEntries: [said("bob", "Four"), said("alice", "Five")] }).durable;
    expect(() => log.append({ entries: said("bob", "Six"), otherEntries: [said("bob", "Seven")] })).toThrow(
      "names a conversation twice",
    );
    await log.append({ entries: said("bob", "Eight") }).durable;
    expect([await wordsTo(log, "alice"), await wordsTo(log, "bob")]).toEqual([
      [1, 2].map((seq, at) => [seq, ["One", "Five"][at]]),
      [1, 2, 3, 4].map((seq, at) => [seq, ["Two", "Three", "Four", "Eight"][at]]),
    ]);
  });

  test(`${what}: after closing in order everything is there, and numbers go on`, async () => {
    const { log, store, reopen } = await newAgent();
    await appendMany(log, 10);
    log.append({ entries: said("alice", "Last") });
    expect(await store.agents()).toEqual([ID]);
    const again = await reopen();
    expect(await again.agents()).toEqual([ID]);
    const opened = await again.open(ID);
    expect([opened.seq, await wordsTo(opened, "alice")]).toEqual([10, [[1, "Last"]]]);
    expect(opened.append({ facts: [paused] }).facts[0]?.seq).toBe(11);
  });

  test(`${what}: with a fence an append is refused when the log has moved on, and changes nothing`, async () => {
    const { log } = await newAgent();
    await log.append({ facts: [paused], expect: 0 }).durable;
    expect(() => log.append({ facts: [paused], expect: 0 })).toThrow(FenceError);
    expect(log.seq).toBe(1);
    await log.append({ facts: [paused], expect: 1 }).durable;
    expect((await log.read({ after: 0, limit: 9 })).map((fact) => fact.seq)).toEqual([1, 2]);
  });

  test(`${what}: what cannot be serialised is refused and leaves no gap`, async () => {
    const { log } = await newAgent();
    const loop: { by: string; self?: unknown } = { by: "x" };
    loop.self = loop;
    expect(() => log.append({ facts: [paused, { type: "agent.stopped", data: loop }] })).toThrow(TypeError);
    expect(log.append({ facts: [paused] }).facts.map((fact) => fact.seq)).toEqual([1]);
  });

  test(`${what}: pages of history, wherever they begin`, async () => {
    const { log } = await newAgent();
    await appendMany(log, 1000);
    for (const after of [0, 1, 13, 499, 998, 999, 1000, 5000]) {
      const page = await log.read({ after, limit: 3 });
      expect(page.map(({ seq }) => seq)).toEqual([1, 2, 3].map((step) => after + step).filter((seq) => seq <= 1000));
    }
  });

  test(`${what}: a follower sees history, then what is live, each fact once and in order`, async () => {
    const { log } = await newAgent();
    await appendMany(log, 200);
    const stop = new AbortController();
    const seen: number[] = [];
    const following = (async () => {
      for await (const fact of log.follow(100, stop.signal)) {
        seen.push(fact.seq);
        if (fact.seq === 1200) stop.abort();
      }
    })();
    for (let round = 0; round < 10; round++) await appendMany(log, 100);
    await following;
    expect(seen).toEqual(Array.from({ length: 1100 }, (_, index) => 101 + index));
  });

  test(`${what}: a follower that is ahead hears nothing until the log has passed it, and one that waits can be ended`, async () => {
    const { log } = await newAgent();
    await appendMany(log, 2);
    const stop = new AbortController();
    const following = log.follow(5, stop.signal)[Symbol.asyncIterator]();
    const first = following.next();
    await appendMany(log, 2);
    await appendMany(log, 2);
    expect(await first).toMatchObject({ value: { seq: 6 } });
    const next = following.next();
    await log.append({ entries: said("alice", "no fact") }).durable;
    stop.abort();
    expect(await next).toEqual({ value: undefined, done: true });
  });

  test(`${what}: subscribers are told once it is durable, before the appender, and only of what they have use for`, async () => {
    const { log } = await newAgent();
    const order: string[] = [];
    const spared: string[] = [];
    const unsubscribe = log.subscribe((fact) => order.push(`told ${fact.seq}`));
    log.subscribe((fact) => spared.push(fact.type), "all but turns");
    const first = log.append({ facts: [paused, called] });
    expect(order).toEqual([]);
    await first.durable.then(() => order.push("durable"));
    unsubscribe();
    await log.append({ facts: [stopped("human")] }).durable;
    expect(order).toEqual(["told 1", "told 2", "durable"]);
    expect(spared).toEqual(["agent.paused", "agent.stopped"]);
  });

  test(`${what}: appends of many at once take effect in the order of the calls`, async () => {
    const { log, store } = await newAgent();
    const other = await store.create("agent-efgh2345");
    const ended: number[] = [];
    const all = Array.from({ length: 300 }, (_, n) => {
      const into = n % 3 === 0 ? other : log;
      return into
        .append({ facts: [stopped(`${n}`)], entries: said("alice", `${n}`) })
        .durable.then(() => n % 3 !== 0 && ended.push(n));
    });
    await Promise.all(all);
    const numbers = (facts: Awaited<ReturnType<AgentLog["read"]>>) =>
      facts.map(({ data }) => ("by" in data ? Number(data.by) : -1));
    const inOrder = Array.from({ length: 300 }, (_, n) => n).filter((n) => n % 3 !== 0);
    expect(numbers(await log.read({ after: 0, limit: 999 }))).toEqual(inOrder);
    expect((await wordsTo(log, "alice")).map(([, words]) => Number(words))).toEqual(inOrder);
    expect(ended).toEqual(inOrder);
    expect(other.seq).toBe(100);
  });

  test(`${what}: a snapshot holds for its version and its log`, async () => {
    const { log, reopen } = await newAgent();
    expect(await log.snapshot("board", 1)).toBeUndefined();
    log.append({ facts: [paused, stopped("human")] });
    await log.saveSnapshot("board", 1, 2, { nodes: 3 });
    expect(await log.snapshot("board", 1)).toEqual({ seq: 2, state: { nodes: 3 } });
    expect(await log.snapshot("board", 2)).toBeUndefined();
    await expect(log.saveSnapshot("board", 1, 3, {})).rejects.toThrow("has no fact 3 on disk");
    const again = await (await reopen()).open(ID);
    // Where it is not kept, it is made again: never another one.
    expect([undefined, 2]).toContain((await again.snapshot("board", 1))?.seq);
  });

  test(`${what}: an agent that was let go is opened again as it was`, async () => {
    const { store, log } = await newAgent();
    log.append({ facts: [paused] });
    await log.close();
    expect(() => log.append({ facts: [paused] })).toThrow("was closed; open it again");
    const again = await store.open(ID);
    expect(again.append({ facts: [paused] }).facts.map((fact) => fact.seq)).toEqual([2]);
    expect(await store.open(ID)).toBe(again);
  });

  test(`${what}: an agent that is not there, an id that leads elsewhere, a second creation`, async () => {
    const { store } = await newAgent();
    await expect(store.open("agent-none2345")).rejects.toThrow(NotFoundError);
    await expect(store.open("agent-../x" as typeof ID)).rejects.toThrow(NotFoundError);
    await expect(store.create("agent-../x" as typeof ID)).rejects.toThrow("is not an agent id");
    await expect(store.create(ID)).rejects.toThrow("already exists");
  });

  test(`${what}: a conversation's name must not lead out of the agent's folder`, async () => {
    const { log } = await newAgent();
    for (const file of [
      "../x.jsonl",
      "/x.jsonl",
      "a/../../x.jsonl",
      "events.jsonl",
      "x.txt",
      "",
      "a//b.jsonl",
      "a\0.jsonl",
    ]) {
      await expect(log.conversation(file), file).rejects.toThrow("is not a conversation file");
      expect(() => log.append({ entries: { file, entries: [] } }), file).toThrow("is not a conversation file");
    }
  });
}

const paused: NewFact = { type: "agent.paused", data: {} };
const stopped = (by: string): NewFact => ({ type: "agent.stopped", data: { by } });
const called: NewFact = { type: "model.called", data: { worker_id: "alice", node_id: null, model: "m/m", turn: 1 } };

const said = (worker: string, ...words: string[]) => ({
  file: `runs/run-1/workers/${worker}/conversation.jsonl`,
  entries: words.map((content) => ({ role: "user", from: "human", content }) as const),
});

async function wordsTo(log: AgentLog, worker: string): Promise<[seq: number, words: unknown][]> {
  const entries = await log.conversation(said(worker).file);
  return entries.map((entry) => [entry.seq, "content" in entry && entry.content]);
}

function appendMany(log: AgentLog, count: number): Promise<unknown> {
  return Promise.all(Array.from({ length: count }, () => log.append({ facts: [paused] }).durable));
}
