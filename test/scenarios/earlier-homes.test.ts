import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { AGENT_SUMMARY_VERSION, SITUATION_VERSION } from "../../src/projections/index.ts";
import { storedEntrySchema } from "../../src/protocol/entry.ts";
import { type AgentId, entrySchema, type FactType, factData, factTypes, partSchema } from "../../src/protocol/index.ts";
import { loadSettings } from "../../src/runtime/config/settings.ts";
import { decodeLine } from "../../src/store/journal/line.ts";
import { openStore } from "../../src/store/open-store.ts";
import { startProviderServer } from "../../src/testing/index.ts";
import { startServer, type TestServer } from "../../src/testing/start-server.ts";
import { copyOf, EARLIER_HOMES, expectedIn, filesOf, placeOf, seenIn } from "./earlier-home.ts";

/**
 * HOMES-1. A home that an earlier version made opens as it is: what is seen in it is what was seen then.
 * HOMES-2. Opening it changes no record: every log and conversation begins with the bytes that it had.
 * HOMES-3. What had been begun there goes on: a question is answered, an agent whose process was killed is resumed.
 * HOMES-4. Snapshots of another version of the folds are not used, and made anew.
 */

/** Fact types that came after these homes were made. What was there before is in them. */
const LATER: readonly FactType[] = [
  ...(["repository.opened", "node.cloned", "setup.finished", "check.finished", "snapshot.kept"] as const),
  ...(["branch.moved", "branch.delivered", "merge.refused", "review.commented", "review.rejected"] as const),
];

test("the every-fact home holds every type of fact and every kind of entry, all whole", () => {
  const facts = new Set<string>();
  const entries = new Set<string>();
  for (const [path, bytes] of filesOf(placeOf("every-fact"))) {
    if (path.endsWith("/events.jsonl"))
      for (const record of recordsIn(bytes)) {
        const { type, data } = record as { type: FactType; data: unknown };
        facts.add(type);
        expect(data, `${path}: ${type}`).toMatchObject(factData[type].parse(data));
      }
    if (path.endsWith("/conversation.jsonl"))
      for (const record of recordsIn(bytes)) {
        const entry = storedEntrySchema.parse(record);
        expect(entry, path).toEqual(record);
        entries.add(entry.role);
        if (entry.role === "assistant") for (const { type } of entry.content) entries.add(`assistant: ${type}`);
      }
  }
  const roles = entrySchema.options.map(({ shape }) => shape.role.value);
  const parts = partSchema.options.map(({ shape }) => `assistant: ${shape.type.value}`);
  expect([...facts].toSorted()).toEqual(factTypes.filter((type) => !LATER.includes(type)).toSorted());
  expect([...entries].toSorted()).toEqual([...roles, ...parts].toSorted());
});

test.for(EARLIER_HOMES)("the %s home opens unchanged, and what is seen in it is what was seen then", async (name) => {
  await using home = await copyOf(name);
  const before = filesOf(home.path);
  expect(await seenBy(home.path)).toEqual(expectedIn(name));

  const after = filesOf(home.path);
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => !isDerived(path) && !isRecord(path) && after.get(path)?.equals(before.get(path) ?? NOTHING) !== true,
  );
  expect(changed).toEqual([]);
  expect(changedRecords(before, home.path)).toEqual([]);
});

test.for(EARLIER_HOMES)("every agent of the %s home can be opened to work, and its log only grows", async (name) => {
  await using home = await copyOf(name);
  const before = filesOf(home.path);
  {
    await using server = await serverOn(home.path);
    for (const id of await server.runtime.store.agents()) await server.runtime.agent(id);
  }
  expect(changedRecords(before, home.path)).toEqual([]);
});

test.for(EARLIER_HOMES)(
  "the %s home is seen the same without snapshots of this version, and has them again",
  async (name) => {
    await using home = await copyOf(name);
    const older = await openStore({ root: home.path, clock: { now: () => Date.now() } });
    const agents = await older.agents();
    for (const id of agents) {
      const log = await older.open(id);
      await log.saveSnapshot("situation", SITUATION_VERSION - 1, log.seq, { seq: log.seq, of: "an older version" });
      await log.saveSnapshot("summary", AGENT_SUMMARY_VERSION - 1, log.seq, { seq: log.seq, of: "an older version" });
    }
    await older.close();

    expect(await seenBy(home.path)).toEqual(expectedIn(name));
    {
      await using server = await serverOn(home.path);
      for (const id of agents) await server.runtime.agent(id);
    }
    const newer = await openStore({ root: home.path, clock: { now: () => Date.now() }, readOnly: true });
    for (const id of agents)
      expect(await (await newer.open(id)).snapshot("situation", SITUATION_VERSION), id).toBeDefined();
    await newer.close();
  },
);

test("an agent of the ordinary home that had asked something goes on when it is answered", async () => {
  await using home = await copyOf("ordinary");
  const before = filesOf(home.path);
  await using provider = await startProviderServer({
    respond: ({ messages }) => (messages.at(-1)?.text.includes("green") ? finish("Green.") : undefined),
  });
  await using server = await serverOn(home.path, provider.env);
  const { id, seq } = await agentNamed(server, "fence colour");
  expect(await server.post(`/agents/${id}/respond`, { response: "green" })).toEqual({
    status: 200,
    body: { status: "delivered", detail: "Answered." },
  });
  const agent = await server.until(id, ({ agent: { status } }) => status === "completed");
  await agent.idle();
  const [answer] = await agent.log.read({ after: seq, limit: 1 });
  expect({ summary: agent.now.agent.summary, requests: provider.requests.length, answer: answer?.data }).toEqual({
    summary: "Green.",
    requests: 1,
    answer: { question_id: "question-1", worker_id: "coordinator", text: "green", channel: "web" },
  });
  expect(changedRecords(before, home.path)).toEqual([]);
});

test("an agent of the ordinary home whose process was killed has what only the journal held, and goes on", async () => {
  await using home = await copyOf("ordinary");
  const before = filesOf(home.path);
  await using provider = await startProviderServer({ respond: () => finish("The seeds are ordered.") });
  await using server = await serverOn(home.path, provider.env);
  const { id } = await agentNamed(server, "seed order");
  const lines = before.get(`agents/${id}/events.jsonl`)?.toString().trimEnd().split("\n") ?? [];
  const agent = await server.runtime.agent(id);
  const [lost] = await agent.log.read({ after: lines.length, limit: 1 });
  expect(lost).toEqual({
    ...{ seq: lines.length + 1, type: "model.called", agent_id: id, ts: 1794970436.456 },
    data: { worker_id: "coordinator", node_id: null, model: "ollama/small", turn: 2 },
  });

  await server.post(`/agents/${id}/resume`, {});
  await server.until(id, ({ agent: { status } }) => status === "completed");
  await agent.idle();
  expect({ summary: agent.now.agent.summary, requests: provider.requests.length }).toEqual({
    summary: "The seeds are ordered.",
    requests: 1,
  });
  expect(changedRecords(before, home.path)).toEqual([]);
});

const finish = (summary: string) => ({ calls: [{ name: "finish", args: { summary, learned: "" } }] });

async function agentNamed(server: TestServer, name: string): Promise<{ id: AgentId; seq: number }> {
  const all = await server.runtime.summaries();
  const found = all.find((each) => each.name === name);
  if (!found) throw new Error(`There is no ${name} among ${all.map((each) => each.name).join(", ")}.`);
  return found;
}

const NOTHING = Buffer.alloc(0);

/** Made again from the records, or of the process that has the home open. */
function isDerived(path: string): boolean {
  return /^(home\.lock|machine\.json|journal\/|agents\/[^/]+\/(snapshots|\.index)\/)/.test(path);
}

function isRecord(path: string): boolean {
  return /(^|\/)(events|conversation)\.jsonl$/.test(path);
}

/** Logs and conversations that do not begin with the bytes they had. */
function changedRecords(before: Map<string, Buffer>, home: string): string[] {
  const records = [...before].filter(([path]) => isRecord(path));
  expect(records.length).toBeGreaterThan(10);
  return records.flatMap(([path, bytes]) =>
    readFileSync(join(home, path)).subarray(0, bytes.length).equals(bytes) ? [] : [path],
  );
}

/** The records of a log, each with its checksum; throws where one is damaged. */
function recordsIn(bytes: Buffer): unknown[] {
  const records: unknown[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(10, start);
    const line = end === -1 ? undefined : decodeLine(bytes, start, end);
    if (!line) throw new Error(`The record at ${start} is damaged: ${bytes.toString("utf8", start, start + 200)}`);
    records.push(JSON.parse(line.json));
    start = end + 1;
  }
  return records;
}

async function serverOn(home: string, env: Readonly<Record<string, string>> = {}) {
  const { config } = await loadSettings({ home }, {}, home);
  return startServer({ home, config, env });
}

async function seenBy(home: string): Promise<unknown> {
  await using server = await serverOn(home);
  return await seenIn(server);
}
