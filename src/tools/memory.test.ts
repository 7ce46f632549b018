import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { Memory } from "../memory/memory.ts";
import type { Insight } from "../projections/index.ts";
import type { NewFact } from "../protocol/index.ts";
import { agentMemoryFiles } from "../store/memory-files.ts";
import { temporaryHome } from "../testing/temporary-home.ts";
import { agentMemoryTools } from "./memory.ts";
import { Toolbox } from "./toolbox.ts";

let dir: string;
let facts: NewFact[];
let insights: Record<string, Insight>;
let toolbox: Toolbox;

beforeEach(async () => {
  const home = await temporaryHome();
  dir = join(home.path, "agents", "agent-test");
  mkdirSync(join(dir, "memory"), { recursive: true });
  facts = [];
  insights = {};
  const memory = new Memory(agentMemoryFiles(dir), () => Date.UTC(2026, 1, 11, 9, 30));
  const author = { run: () => "run-1", agent: "Ada" };
  const record = async (...told: NewFact[]) => void facts.push(...told);
  toolbox = new Toolbox(agentMemoryTools({ memory, record, by: "coordinator", insights: () => insights, author }));
  return () => home.remove();
});

const use = async (name: string, args: unknown) => {
  const result = await toolbox.run({ type: "call", id: "1", name, args }, new AbortController().signal);
  return [result.ok, result.content];
};
const text = (path: string) => readFileSync(join(dir, path), "utf8");

test("without a path a note goes to today's log, and what is written is a fact that names the file", async () => {
  expect(await use("memory_write", { content: "Began." })).toEqual([
    true,
    "Remembered in memory/2026-02-11.md (17 bytes).",
  ]);
  expect(text("memory/2026-02-11.md")).toBe("## 09:30\n\nBegan.\n");
  expect(facts).toEqual([
    { type: "memory.written", data: { path: "memory/2026-02-11.md", bytes: 17, by: "coordinator" } },
  ]);
});

test("what is refused is a result in words, and no fact", async () => {
  const answers = [
    await use("memory_write", { path: "../GOAL.md", content: "x" }),
    await use("memory_write", { path: "a.md" }),
    await use("memory_read", { path: "none.md" }),
    await use("memory_search", { query: "" }),
  ];
  expect([answers.map(([ok]) => ok), facts]).toEqual([[false, false, false, false], []]);
});

test("an empty memory says so, a small one is given whole", async () => {
  expect(await use("memory_search", { query: "chips" })).toEqual([true, "Your memory is empty."]);
  await use("memory_write", { path: "knowledge/tea.md", content: "# Tea\n\nSteep twice." });
  expect(await use("memory_search", { query: "chips" })).toEqual([
    true,
    "Your memory is small; this is all of it.\n\n**knowledge/tea.md**\n\n# Tea\n\nSteep twice.\n\n(2026-02-11, run-1)",
  ]);
});

test("a large memory answers with sections, each under its file and headings, and says when there is none", async () => {
  writeFileSync(join(dir, "memory", "filler.md"), `# Filler\n\n${"Nothing of note. ".repeat(2000)}`);
  await use("memory_write", { path: "knowledge/chips.md", content: "# Chips\n\n## Heat\n\nThey throttle at 88." });
  expect(await use("memory_search", { query: "Do they throttle?" })).toEqual([
    true,
    expect.stringMatching(
      /^\*\*knowledge\/chips\.md:3 · 2026-02-11 › Chips\*\*\n\n## Heat\n\nThey throttle at 88\.\n\n\(2026-02-11, run-1\)$/,
    ),
  ]);
  expect(await use("memory_search", { query: "xylophone" })).toEqual([
    true,
    "No note has any of these words. Try others, or see the list with memory_read.",
  ]);
});

test("an insight that was written before a crash, and not yet decided, is there once when the call is repeated", async () => {
  insights = { "insight-1": { id: "insight-1", seq: 9, worker_id: "alice", title: "Heat", content: "88." } };
  const call = { insight_id: "insight-1" };
  await use("accept_insight", call);
  facts = [];
  expect(await use("accept_insight", call)).toEqual([true, "Remembered in memory/knowledge/insights.md."]);
  expect(text("memory/knowledge/insights.md")).toBe("## Heat\n\n88.\n\n(2026-02-11, run-1, from alice)\n");
  expect(facts).toEqual([
    { type: "memory.written", data: { path: "memory/knowledge/insights.md", bytes: 46, by: "coordinator" } },
    { type: "insight.accepted", data: { insight_id: "insight-1", path: "memory/knowledge/insights.md" } },
  ]);
});
