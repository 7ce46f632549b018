import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { AGENT_SUMMARY_VERSION, SITUATION_VERSION, summarise } from "../../projections/index.ts";
import type { AgentId, NewFact } from "../../protocol/index.ts";
import { openStore } from "../../store/open-store.ts";
import type { AgentLog } from "../../store/store.ts";
import { temporaryHome } from "../../testing/index.ts";
import { writeLongLog } from "../../testing/long-log.ts";
import { OpenAgents } from "../open-agents.ts";
import { saveSituation, situationOf } from "../state/situations.ts";
import { lookAtAll } from "./agent-list.ts";
import { findAgent } from "./find-agent.ts";

const LONG: AgentId = "agent-long";
const STOPPED: NewFact = { type: "agent.stopped", data: { by: "human" } };
/** The first fact and the latest. */
const FEW = 201;

test("of an agent with snapshots of an older version, a list has what was kept and the latest status, then all", async () => {
  const { store, log, parsed } = await longLog();
  await keepOlder(log);
  await log.append({ facts: [STOPPED] }).durable;
  const agents = new OpenAgents({ store, now: () => 0 });
  const before = parsed();
  const loaded = new Promise<void>((resolve) => agents.onLoaded(resolve));
  const [first] = await agents.listed();
  expect(parsed() - before).toBeLessThanOrEqual(FEW);
  expect(first).toMatchObject({
    status: "stopped",
    goal: "Go on for long",
    cost_usd: expect.closeTo(3),
    loading: true,
  });
  await loaded;
  const again = parsed();
  expect(await agents.listed()).toEqual([summarise(await situationOf(log))]);
  expect(parsed() - again).toBe(0);
});

test("a summary that was kept at the end of the log is listed at once, whatever the version of the situation", async () => {
  const { store, log, parsed } = await longLog();
  await keepOlder(log);
  const before = parsed();
  expect((await new OpenAgents({ store, now: () => 0 }).listed()).map(({ loading }) => loading)).toEqual([undefined]);
  expect((await lookAtAll(store)).agents.map(({ summary }) => summary.seq)).toEqual([603]);
  expect(parsed() - before).toBe(0);
});

test("a kept summary that is damaged or of another version is as good as none", async () => {
  const { store, log } = await longLog();
  const now = await situationOf(log);
  const costs = async () =>
    (await lookAtAll(store, 0)).agents.map(({ summary }) => [summary.cost_usd, summary.loading]);
  await log.saveSnapshot("summary", AGENT_SUMMARY_VERSION, now.seq, summarise(now));
  expect(await costs()).toEqual([[expect.closeTo(3), undefined]]);
  await log.saveSnapshot("summary", AGENT_SUMMARY_VERSION - 1, now.seq, summarise(now));
  expect(await costs()).toEqual([[0, true]]);
  for (const name of ["summary", "situation"])
    writeFileSync(join(log.dir, `snapshots/${name}.json`), '{"seq":603,"ver');
  expect(await costs()).toEqual([[0, true]]);
});

test("many who ask at once have a long log folded once", async () => {
  const { store, parsed } = await longLog();
  const agents = new OpenAgents({ store, now: () => 0 });
  await Promise.all([agents.summaries(), agents.summary(LONG), agents.summaries()]);
  expect(parsed()).toBe(603);
});

test("a long log that cannot be folded is not listed as loading for ever, and is tried again after a minute", async () => {
  const { store, disk } = await longLog();
  let now = 0;
  const agents = new OpenAgents({ store, now: () => now });
  const loaded = () => new Promise<void>((resolve) => agents.onLoaded(resolve));
  const listed = async () => (await agents.listed()).map(({ loading }) => loading ?? false);
  disk.answersFolds = false;
  const first = loaded();
  expect(await listed()).toEqual([true]);
  await first;
  expect(await listed()).toEqual([]);
  await expect(agents.summary(LONG)).rejects.toThrow("the disk does not answer");
  disk.answersFolds = true;
  now = 60_000;
  const second = loaded();
  expect(await listed()).toEqual([true]);
  await second;
  expect(await listed()).toEqual([false]);
});

test("an agent is found by its name without folding the others", async () => {
  const { store, parsed } = await longLog();
  const short = await store.create("agent-aaaa");
  const [created] = await (await store.open(LONG)).read({ after: 0, limit: 1 });
  if (created?.type !== "agent.created") throw new Error("The log does not begin with agent.created.");
  await short.append({ facts: [{ type: "agent.created", data: { ...created.data, name: "short" } }] }).durable;
  const before = parsed();
  expect((await findAgent(store, "short")).agent.id).toBe("agent-aaaa");
  expect(parsed() - before).toBeLessThanOrEqual(FEW);
});

/** As an upgrade finds them: the summary is good, the situation of a version that is not. */
async function keepOlder(log: AgentLog): Promise<void> {
  const now = await situationOf(log);
  await saveSituation(log, now);
  await log.saveSnapshot("situation", SITUATION_VERSION - 1, now.seq, now);
}

/** A home with one long log and no snapshots, and how many facts of it have been parsed. */
async function longLog() {
  const home = await temporaryHome();
  await writeLongLog(home.path, LONG);
  const store = await openStore({ root: home.path, clock: { now: () => 1_700_000_000_000 } });
  onTestFinished(async () => {
    await store.close();
    await home.remove();
  });
  const log = await store.open(LONG);
  const read = log.read.bind(log);
  const disk = { answersFolds: true };
  let parsed = 0;
  vi.spyOn(log, "read").mockImplementation(async (range) => {
    if (range.limit >= 500 && !disk.answersFolds) throw new Error("the disk does not answer");
    const facts = await read(range);
    parsed += facts.length;
    return facts;
  });
  return { store, log, disk, parsed: () => parsed };
}
