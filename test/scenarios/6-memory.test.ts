import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Memory } from "../../src/memory/memory.ts";
import { readVersion } from "../../src/memory/versions.ts";
import type { StoredEntry } from "../../src/protocol/index.ts";
import { openRuntime } from "../../src/runtime/open-runtime.ts";
import { agentMemoryFiles } from "../../src/store/run/memory-files.ts";
import { call, manualClock, script, startProviderServer, startTeam, temporaryHome } from "../../src/testing/index.ts";
import { configFor, PROVIDERS } from "./over-the-wire.ts";

/** Seed 002 §11, test 6: what the first run learned, the second one uses. */
const NOTES = `# Python async patterns

## Bounding concurrency

Use asyncio.Semaphore(10) around each request; gather without it opens every socket at once.

## Cancelling

TaskGroup cancels the others when one fails; gather does not.`;

const GOAL = "Research Python async patterns. Write what you learn to memory.";
const SECOND_GOAL = "Write an async web scraper in Python.";

test.each(PROVIDERS)(
  "an agent remembers in its second run what it learned in its first, over $name",
  async ({ model }) => {
    await using provider = await startProviderServer({
      turns: [
        { calls: [{ name: "memory_write", args: { path: "knowledge/python-asyncio.md", content: NOTES } }] },
        {
          calls: [
            {
              name: "memory_write",
              args: { path: "MEMORY.md", content: "Python async notes: knowledge/python-asyncio.md" },
            },
          ],
        },
        { calls: [{ name: "finish", args: { summary: "Async patterns are in my memory." } }] },
        { calls: [{ name: "memory_search", args: { query: "python async" } }] },
        { calls: [{ name: "write_file", args: { path: "scraper.py", content: "sem = asyncio.Semaphore(10)\n" } }] },
        { calls: [{ name: "finish", args: { summary: "scraper.py bounds its requests with a semaphore." } }] },
      ],
    });
    await using home = await temporaryHome();
    const clock = manualClock(Date.UTC(2026, 1, 11, 9, 30));
    const settings = { home: home.path, env: provider.env, config: configFor(provider) };
    const runtime = await openRuntime(settings, { clock });
    await using _closing = { [Symbol.asyncDispose]: () => runtime.close() };
    const agent = await runtime.create({ goal: GOAL, model });
    await agent.idle();
    const firstRun = agent.log.seq;
    expect(await agent.send(SECOND_GOAL)).toMatch(/takes it as its next goal\.$/);
    await agent.idle();
    provider.assertDone();
    const { status, runs, summary } = agent.now.agent;
    expect({ status, runs, summary }).toEqual({
      status: "completed",
      runs: 2,
      summary: "scraper.py bounds its requests with a semaphore.",
    });

    // memory/knowledge/ contains notes after run 1
    expect(await readFile(join(agent.log.dir, "memory/knowledge/python-asyncio.md"), "utf8")).toBe(
      `${NOTES}\n\n(2026-02-11, run-1)\n`,
    );
    // MEMORY.md, the index and the daily log are loaded into the second run's prompt; of what is there or below, said once
    const conversation = await agent.log.conversation("conversation.jsonl");
    const prompts = conversation.flatMap((entry) => (entry.role === "system" ? [entry.content] : []));
    expect(prompts.map(memoryIn)).toEqual([expect.not.stringContaining("Python"), REMEMBERED]);
    // Run 2's memory_search found them: no web_search repeated for the same topic
    const found = results(conversation, "memory_search");
    expect(found).toEqual([[true, expect.stringContaining(NOTES)]]);
    const later = (await agent.log.read({ after: firstRun, limit: 10_000 })).flatMap((fact) =>
      fact.type === "tool.called" ? fact.data.tool : [],
    );
    expect(later).toEqual(["memory_search", "write_file", "finish"]);
    // The agent in run 2 was told what run 1 learned before it wrote
    expect(JSON.stringify(provider.requests.at(-2)?.body)).toContain("Use asyncio.Semaphore(10) around each request");
    expect(JSON.stringify(provider.requests.at(-3)?.body)).toContain("Async patterns are in my memory.");
  },
);

const REMEMBERED = `## MEMORY.md

Python async notes: knowledge/python-asyncio.md (2026-02-11, run-1)

## index.md

- knowledge/python-asyncio.md (242 bytes): Python async patterns

## 2026-02-11.md

(run-1 is told below; files: agent/runs/run-1/)`;

test("what a worker learned for good is offered, decided about by the coordinator, and kept", async () => {
  const coordinator = script(
    call("create_work_node", { task: "Measure the chip" }),
    call("accept_insight", { insight_id: "insight-9" }).after("node-1 completed"),
    call("accept_insight", { insight_id: "insight-1", path: "knowledge/chips.md" }),
    call("decline_insight", { insight_id: "insight-2", why: "trivial" }),
    call("accept_insight", { insight_id: "insight-1" }),
    call("finish", { summary: "80" }),
  );
  const Alice = script(
    call("offer_insight", { title: "Chips throttle", content: "At 88 degrees, measured twice." }),
    call("offer_insight", { title: "Water is wet", content: "Yes." }),
    call("write_file", { path: "scratch/a.md", content: "80" }),
    call("publish", { summary: "80" }),
  );
  await using team = await startTeam({ goal: "Measure", coordinator, workers: { Alice } });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "80" });

  const told = coordinator.requests.flatMap(({ history }) => history.map((entry) => String(entry.content)));
  expect(told.join("\n")).toContain(
    "Alice offers insight-1 for your memory: Chips throttle\nAt 88 degrees, measured twice.\nTake it with accept_insight, or decline it.",
  );
  const facts = (await team.facts()).filter(({ type }) => type.startsWith("insight.") || type === "memory.written");
  const alice = { worker_id: "alice", node_id: "node-1" };
  expect(facts.map(({ type, data }) => [type, data])).toEqual([
    ["insight.offered", { ...alice, title: "Chips throttle", content: "At 88 degrees, measured twice." }],
    ["insight.offered", { ...alice, title: "Water is wet", content: "Yes." }],
    ["memory.written", { path: "memory/knowledge/chips.md", bytes: 83, by: "coordinator" }],
    ["insight.accepted", { insight_id: "insight-1", path: "memory/knowledge/chips.md" }],
    ["insight.declined", { insight_id: "insight-2", why: "trivial" }],
  ]);
  expect(await readFile(join(team.agent.log.dir, "memory/knowledge/chips.md"), "utf8")).toMatch(
    /^## Chips throttle\n\nAt 88 degrees, measured twice\.\n\n\(\d{4}-\d\d-\d\d, run-1, from alice\)\n$/,
  );
  expect(results(await team.conversation(), "accept_insight")).toEqual([
    [false, 'No insight "insight-9" waits for you. Choose from: insight-1, insight-2.'],
    [true, "Remembered in memory/knowledge/chips.md (83 bytes)."],
    [false, 'No insight "insight-1" waits for you. None does.'],
  ]);
  expect(team.agent.now.insights).toEqual({ offered: 2, open: {} });
});

test("a worker's memory is its own: it goes with it to its next node, and the agent's is out of reach", async () => {
  const Alice = script(
    call("memory_write", { content: "## Scale\n\nThe scale is 2 g off." }),
    call("memory_write", { path: "MEMORY.md", content: "I was here." }),
    call("memory_read", { path: "knowledge/secret.md" }),
    call("memory_search", { query: "scale secret" }),
    call("write_file", { path: "scratch/a.md", content: "80" }),
    call("publish", { summary: "80" }),
    call("memory_read"),
    call("write_file", { path: "scratch/b.md", content: "95" }),
    call("publish", { summary: "95" }),
  );
  const coordinator = script(
    call("memory_write", { path: "knowledge/secret.md", content: "Swordfish." }),
    call("spawn_worker", { name: "Alice" }),
    call("create_work_node", { task: "Weigh A", worker: "Alice" }),
    call("create_work_node", { task: "Weigh B", worker: "Alice" }).after("node-1 completed"),
    call("finish", { summary: "done" }).after("node-2 completed"),
  );
  await using team = await startTeam({ goal: "Weigh", coordinator, workers: { Alice } });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });

  const words = await team.conversation("runs/run-1/workers/alice/conversation.jsonl");
  expect(results(words, "memory_write").map(([ok]) => ok)).toEqual([true, false]);
  expect(results(words, "memory_read")).toEqual([
    [false, "You may not read knowledge/secret.md. Yours are memory.md and notebook.md."],
    [true, "memory.md (32 bytes)\nnotebook.md (0 bytes)"],
  ]);
  expect(results(words, "memory_search")).toEqual([
    [true, "Your memory is small; this is all of it.\n\n**memory.md**\n\n## Scale\n\nThe scale is 2 g off."],
  ]);
  expect(Alice.requests.at(-1)?.system).toContain(
    "# Your memory (from past work)\n\n## Scale\n\nThe scale is 2 g off.",
  );
  const { dir } = team.agent.log;
  expect([await readFile(join(dir, "MEMORY.md"), "utf8"), await readdir(join(dir, "memory/knowledge"))]).toEqual([
    "",
    ["secret.md"],
  ]);
});

function results(conversation: readonly StoredEntry[], tool: string): [boolean, string][] {
  return conversation.flatMap((entry) =>
    entry.role === "tool" && entry.tool === tool ? [[entry.ok, entry.content] as [boolean, string]] : [],
  );
}

function memoryIn(system: string): string {
  const [, memory = ""] = /# Your memory\n\n([\s\S]*?)\n\n---\n\n/.exec(system) ?? [];
  return memory;
}

test("a memory file that a file tool overwrites is kept as a version, on record, and a daily log only grows", async () => {
  const clock = manualClock(Date.UTC(2026, 1, 11, 9));
  const coordinator = script(
    call("memory_write", { path: "MEMORY.md", content: "Ships are slow." }),
    call("write_file", { path: "agent/MEMORY.md", content: "Ships are fast.\n" }),
    call("edit_file", { path: "./agent/MEMORY.md", old: "fast", new: "late" }),
    call("memory_write", { content: "It rained." }),
    call("write_file", { path: "agent/memory/2026-02-11.md", content: "It snowed." }),
    call("write_file", { path: "agent/memory/numbers.json", content: "[1]" }),
    call("finish", { summary: "done" }),
  );
  await using team = await startTeam({ goal: "g", clock, coordinator });
  await team.outcome();
  const { dir } = team.agent.log;
  const memory = new Memory(agentMemoryFiles(dir), { now: clock.now, timeZone: "UTC" });
  expect(await memory.read("MEMORY.md")).toBe("Ships are late.\n");
  const versions = await memory.versions("MEMORY.md");
  const texts = await Promise.all(versions.map(({ name }) => readVersion(memory.files, "MEMORY.md", name)));
  expect(texts.sort()).toEqual(["Ships are fast.\n", "Ships are slow. (2026-02-11, run-1)\n"]);
  expect(await memory.read("2026-02-11.md")).toMatch(/^## 09:00\n\nIt rained\.\n\n## 09:00\n\nFinished "g"/);
  expect(await readFile(join(dir, "memory/numbers.json"), "utf8")).toBe("[1]");
  const written = (await team.facts()).flatMap((fact) => (fact.type === "memory.written" ? fact.data.path : []));
  expect(written).toEqual(["MEMORY.md", "MEMORY.md", "MEMORY.md", "memory/2026-02-11.md"]);
});

test("the time zone of config.json is that of the prompt's day and of the daily log", async () => {
  const coordinator = script(call("memory_write", { content: "It rained." }), call("finish", { summary: "done" }));
  const clock = manualClock(Date.UTC(2026, 10, 17, 12));
  const config = { time_zone: "Pacific/Kiritimati" }; // 14 hours ahead
  await using team = await startTeam({ goal: "g", clock, coordinator, config });
  await team.outcome();
  expect(coordinator.requests[0]?.system).toContain("Today is 2026-11-18, a Wednesday (Pacific/Kiritimati).");
  const log = await readFile(join(team.agent.log.dir, "memory/2026-11-18.md"), "utf8");
  expect(log.startsWith("## 02:00\n\nIt rained.\n")).toBe(true);
});
