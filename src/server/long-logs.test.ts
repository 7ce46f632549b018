import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { summaryView } from "../projections/index.ts";
import type { AgentSummary } from "../protocol/api/agents.ts";
import type { AgentId } from "../protocol/index.ts";
import { temporaryHome } from "../testing/index.ts";
import { writeLongLog } from "../testing/long-log.ts";
import { startServer, type TestServer } from "../testing/start-server.ts";

const LONG: AgentId = "agent-long";
/** The first fact and the latest. */
const FEW = 201;

test("the first list after a restart without snapshots folds no long log, says so, and is right once it was folded", async () => {
  const { server, parsed, loaded } = await restarted();
  const [first] = await list(server);
  expect(first).toMatchObject({ id: LONG, name: "long", status: "working", loading: true });
  await loaded;
  expect(await list(server)).toEqual([await folded(server)]);
  expect(parsed()).toBeLessThanOrEqual(FEW);
});

test("who asks for an agent with a long log waits for the thread, and so does the list that comes after", async () => {
  const { server, parsed } = await restarted();
  const [summary, situation] = await Promise.all([server.runtime.summary(LONG), server.runtime.situation(LONG)]);
  expect([summary.seq, summary.cost_usd, situation.seq]).toEqual([603, expect.closeTo(3), 603]);
  expect(await list(server)).toEqual([summaryView(situation)]);
  expect(parsed()).toBe(0);
});

test("damage in a long log is recorded although a thread folds long logs", async () => {
  const { server, loaded, home } = await restarted(async (root) => {
    const path = join(root, "agents", LONG, "events.jsonl");
    writeFileSync(path, readFileSync(path, "utf8").replace('"turn":7,', '"turn":8,'));
  });
  await list(server);
  await loaded;
  const log = await server.runtime.store.open(LONG);
  const told = new AbortController();
  for await (const fact of log.follow(603, told.signal)) {
    expect(fact.type).toBe("log.repaired");
    told.abort();
  }
  expect(readdirSync(join(home, "damaged"))).toHaveLength(1);
});

test("a server that is closed while long logs are folded waits for none of them", async () => {
  const { server, parsed } = await restarted();
  await list(server);
  await server.app.close();
  await server.runtime.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(parsed()).toBeLessThanOrEqual(FEW);
});

/** A server over a home with one long log and no snapshots, and how many facts it has parsed of it itself. */
async function restarted(before: (home: string) => Promise<void> = async () => {}) {
  const home = await temporaryHome();
  await writeLongLog(home.path, LONG);
  await before(home.path);
  const server = await startServer({ home: home.path });
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await home.remove();
  });
  const log = await server.runtime.store.open(LONG);
  const read = log.read.bind(log);
  let parsed = 0;
  vi.spyOn(log, "read").mockImplementation(async (range) => {
    const facts = await read(range);
    parsed += facts.length;
    return facts;
  });
  const loaded = new Promise<void>((resolve) => server.runtime.onLoaded(resolve));
  return { server, loaded, parsed: () => parsed, home: home.path };
}

async function list(server: TestServer): Promise<AgentSummary[]> {
  return ((await server.get("/agents")).body as { agents: AgentSummary[] }).agents;
}

async function folded(server: TestServer): Promise<AgentSummary> {
  return summaryView(await server.runtime.situation(LONG));
}
