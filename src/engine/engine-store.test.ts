import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { NewFact } from "../protocol/index.ts";
import { FenceError } from "../store/errors.ts";
import type { AgentLog } from "../store/store.ts";
import { testStore } from "../store/testing/store-suite.ts";
import type { Database } from "./database.ts";
import { FencedError } from "./streams.ts";
import { machine as machineOn } from "./testing/machine.ts";
import { Postgres, withoutPostgres } from "./testing/postgres.ts";

const ID = "agent-abcd2345";
const paused: NewFact = { type: "agent.paused", data: {} };
const said = (content: string) => ({
  file: "conversation.jsonl",
  entries: [{ role: "user", from: "human", content } as const],
});

describe.skipIf(withoutPostgres)(`a store in an engine ${withoutPostgres}`, () => {
  let postgres: Postgres;
  let schemas = 0;
  beforeAll(async () => {
    postgres = await Postgres.start();
  });
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]();
  });

  const machine = (schema: string) => machineOn(postgres.url(), schema);
  const schema = () => `store_${++schemas}`;

  testStore("engine", async () => {
    const shared = schema();
    const one = await machine(shared);
    onTestFinished(() => one[Symbol.asyncDispose]());
    const reopen = async () => {
      await one.store.close();
      const two = await machine(shared);
      onTestFinished(() => two[Symbol.asyncDispose]());
      return two.store;
    };
    return { store: one.store, reopen };
  });

  test("ENGINE-STORE-1: what is durable is in the engine and in plain files; followers see each once, in order", async () => {
    await using one = await machine(schema());
    const log = await one.store.create(ID);
    const told: number[] = [];
    log.subscribe(({ seq }) => told.push(seq));
    const { facts, durable } = log.append({ facts: [paused, paused], entries: said("Hello") });
    expect(facts.map(({ seq }) => seq)).toEqual([1, 2]);
    await durable;
    await Promise.all(Array.from({ length: 50 }, () => log.append({ facts: [paused] }).durable));
    expect(() => log.append({ facts: [paused], expect: 1 })).toThrow(FenceError);
    expect(told).toEqual(Array.from({ length: 52 }, (_, at) => at + 1));
    expect((await log.read({ after: 50, limit: 9 })).map(({ seq }) => seq)).toEqual([51, 52]);
    expect(await one.store.agents()).toEqual([ID]);
    expect(await stored(one.database, "events.jsonl")).toBe(readFileSync(join(log.dir, "events.jsonl"), "utf8"));
    expect(await stored(one.database, "conversation.jsonl")).toContain("Hello");
  });

  test("an agent that was closed in order is open elsewhere at once, with everything", async () => {
    const shared = schema();
    await using one = await machine(shared);
    await using two = await machine(shared);
    const log = await one.store.create(ID);
    await log.append({ facts: [paused], entries: said("Hello") }).durable;
    await expect(two.store.open(ID)).rejects.toThrow(`${ID} is at work on another host (${one.home}).`);
    await one.store.close();
    const again = await two.store.open(ID);
    expect(again.seq).toBe(1);
    await again.append({ facts: [paused] }).durable;
    expect(
      (await again.conversation("conversation.jsonl")).map((entry) => "content" in entry && entry.content),
    ).toEqual(["Hello"]);
  });

  test("ENGINE-STORE-3: what is taken over is fenced at its old host, which acknowledges nothing more", async () => {
    const shared = schema();
    await using one = await machine(shared);
    await using two = await machine(shared);
    const log = await one.store.create(ID);
    await log.append({ facts: [paused] }).durable;
    await one.silence();
    const taken = await two.store.open(ID);
    const late = log.append({ facts: [paused], entries: said("from a zombie") });
    await expect(late.durable).rejects.toThrow(FencedError);
    expect(() => log.append({ facts: [paused] })).toThrow(FencedError);
    expect(log.seq).toBe(1);
    await taken.append({ facts: [paused], entries: said("from its owner") }).durable;
    expect(await stored(two.database, "conversation.jsonl")).not.toContain("zombie");
    expect(readFileSync(join(log.dir, "events.jsonl"), "utf8").trim().split("\n")).toHaveLength(1);
  });

  test("ENGINE-STORE-2: a working copy that is behind, ahead or damaged becomes what the engine has", async () => {
    const shared = schema();
    await using one = await machine(shared);
    const log = await one.store.create(ID);
    await log.append({ facts: [paused, paused, paused] }).durable;
    const file = join(log.dir, "events.jsonl");
    const right = readFileSync(file, "utf8");
    await log.close();
    for (const wrong of ["", right.slice(0, 40), right.replace("paused", "p4used"), `${right}{"seq":4`]) {
      writeFileSync(file, wrong);
      const opened: AgentLog = await one.store.open(ID);
      expect([opened.seq, readFileSync(file, "utf8")]).toEqual([3, right]);
      await opened.close();
      // Released in the background.
      await expect.poll(async () => (await one.database.query("select owner from trees"))[0]).toEqual({ owner: null });
    }
  });

  test("ENGINE-WRITER-3: an engine that dies in the middle of writes loses none and keeps none twice", async () => {
    await using one = await machine(schema());
    const log = await one.store.create(ID);
    await log.append({ facts: [paused] }).durable;
    let durable = 1;
    const append = async () => {
      await log.append({ facts: [paused] }).durable;
      durable++;
    };
    const before = Array.from({ length: 15 }, append);
    await postgres.down();
    const after = Array.from({ length: 15 }, append);
    await postgres.up();
    await Promise.all([...before, ...after]);
    expect(durable).toBe(31);
    const lines = (await stored(one.database, "events.jsonl")).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).seq)).toEqual(Array.from({ length: 31 }, (_, at) => at + 1));
    expect(readFileSync(join(log.dir, "events.jsonl"), "utf8").trim().split("\n")).toEqual(lines);
  });

  test("HOST-2: a host that cannot be heard for 8 s drops all it had, once, and gives nothing back", async () => {
    const shared = schema();
    await using one = await machine(shared);
    const log = await one.store.create(ID);
    await log.append({ facts: [paused] }).durable;
    await one.database.close();
    await one.clock.advance(7000);
    expect([one.lost, one.host.signal.aborted]).toEqual([0, false]);
    await one.clock.advance(1500);
    await expect.poll(() => one.lost).toBe(1);
    expect(() => log.append({ facts: [paused] })).toThrow(FencedError);
    await using two = await machine(shared);
    const [owner] = await two.database.query<{ owner: string }>("select owner from trees");
    expect(owner?.owner).toBe(one.host.id);
  });
});

async function stored(database: Database, path: string): Promise<string> {
  const rows = await database.query<{ bytes: Buffer }>("select bytes from chunks where path = $1 order by at", [path]);
  return Buffer.concat(rows.map(({ bytes }) => bytes)).toString();
}
