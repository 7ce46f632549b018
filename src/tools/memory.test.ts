import { mkdirSync, readFileSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { Memory } from "../memory/memory.ts";
import type { Insight } from "../projections/index.ts";
import type { NewFact } from "../protocol/index.ts";
import { agentMemoryFiles } from "../store/run/memory-files.ts";
import { temporaryHome } from "../testing/temporary-home.ts";
import { agentMemoryTools } from "./memory.ts";
import { Toolbox } from "./toolbox.ts";

let dir: string;
let facts: NewFact[];
let insights: Record<string, Insight>;
let toolbox: Toolbox;
let timeZone: string;

beforeEach(async () => {
  const home = await temporaryHome();
  dir = join(home.path, "agents", "agent-test");
  mkdirSync(join(dir, "memory"), { recursive: true });
  facts = [];
  insights = {};
  timeZone = "UTC";
  const time = {
    now: () => Date.UTC(2026, 1, 11, 9, 30),
    get timeZone() {
      return timeZone;
    },
  };
  const memory = new Memory(agentMemoryFiles(dir), time);
  const toHuman = (text: string): NewFact => ({ type: "human.nudge", data: { text, channel: "test" } });
  const author = { run: () => "run-1", agent: "Ada" };
  const record = async (...told: NewFact[]) => void facts.push(...told);
  toolbox = new Toolbox(
    agentMemoryTools({ memory, record, by: "coordinator", insights: () => insights, author, toHuman }),
  );
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

test("a file is read whole or by its lines; lines that it does not have are refused with how many there are", async () => {
  writeFileSync(join(dir, "memory/chips.md"), "# Chips\n\nA: 80\nB: 95\n");
  const read = (lines: object) => use("memory_read", { path: "chips.md", ...lines });
  expect([
    await read({}),
    await read({ from_line: 3 }),
    await read({ from_line: 3, to_line: 3 }),
    await read({ to_line: 1 }),
    await read({ from_line: 4, to_line: 99 }),
    await read({ from_line: 9 }),
    await read({ from_line: 3, to_line: 2 }),
    await use("memory_read", { path: "chips.md:3" }),
  ]).toEqual([
    [true, "# Chips\n\nA: 80\nB: 95\n"],
    [true, "A: 80\nB: 95\n"],
    [true, "A: 80"],
    [true, "# Chips"],
    [true, "B: 95\n"],
    [false, "It has 5 lines. Ask for some of those."],
    [false, "It has 5 lines. Ask for some of those."],
    [true, "# Chips\n\nA: 80\nB: 95\n"],
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

test("what is too much to be searched is said with the answer", async () => {
  writeFileSync(join(dir, "memory/tea.md"), "Tea is hot.\n");
  truncateSync(join(dir, "memory/tea.md"), 9 * 1024 ** 2);
  const [, content] = await use("memory_search", { query: "tea" });
  expect(content).toMatch(/\n\n\(Of tea\.md only the first 8 MB are searched\. Split it by topic\.\)$/);
});

test("an insight that was written before a crash, and not yet decided, is there once when the call is repeated", async () => {
  insights = { "insight-1": { id: "insight-1", seq: 9, worker_id: "alice", title: "Heat", content: "88." } };
  const call = { insight_id: "insight-1" };
  await use("accept_insight", call);
  facts = [];
  expect(await use("accept_insight", call)).toEqual([true, "Remembered in memory/knowledge/insights.md (46 bytes)."]);
  expect(text("memory/knowledge/insights.md")).toBe("## Heat\n\n88.\n\n(2026-02-11, run-1, from alice)\n");
  expect(facts).toEqual([
    { type: "memory.written", data: { path: "memory/knowledge/insights.md", bytes: 46, by: "coordinator" } },
    { type: "insight.accepted", data: { insight_id: "insight-1", path: "memory/knowledge/insights.md" } },
  ]);
});

test("the human is told once when MEMORY.md outgrows what is shown, not at each write after", async () => {
  const long = (words: string) => use("memory_write", { path: "MEMORY.md", content: `- ${words.repeat(1000)}` });
  const answers = [await long("short. "), await long("longer. "), await long("longest. ")];
  expect(answers.map(([, text]) => String(text).includes("only 12000 of them are shown"))).toEqual([false, true, true]);
  const told = facts.flatMap((fact) => (fact.type === "human.nudge" ? fact.data.text : []));
  expect(told).toEqual([expect.stringMatching(/^My MEMORY\.md has 15\d{3} bytes now, more than the 12000 that I see/)]);
});

test("an insight that makes MEMORY.md outgrow what is shown is answered and told like any other note", async () => {
  const content = "- longer. ".repeat(1300);
  insights = { "insight-1": { id: "insight-1", seq: 9, worker_id: "alice", title: "Heat", content } };
  const [ok, answer] = await use("accept_insight", { insight_id: "insight-1", path: "MEMORY.md" });
  expect([ok, answer]).toEqual([true, expect.stringContaining("only 12000 of them are shown")]);
  expect(facts.map(({ type }) => type)).toEqual(["memory.written", "insight.accepted", "human.nudge"]);
});

test("a note that another run contradicts names the other, and a search of both says which is newer", async () => {
  mkdirSync(join(dir, "memory", "knowledge"));
  writeFileSync(join(dir, "memory/knowledge/owners.md"), "Amara is responsible for billing. (2025-12-01, run-0)\n");
  const [, answer] = await use("memory_write", {
    path: "knowledge/team.md",
    content: "Chen is responsible for billing.",
  });
  expect(answer).toBe(
    'Remembered in memory/knowledge/team.md (53 bytes).\nOther notes seem to say something else. Use supersedes for what is no longer true:\n- knowledge/owners.md:1 · 2025-12-01 · run-0: "Amara is responsible for billing."',
  );
  const again = { path: "memory/knowledge/others.md", content: "Bob is responsible for billing." };
  expect((await use("memory_write", again))[1]).toContain("Amara is responsible for billing.");
  const says =
    "These seem to contradict each other: knowledge/team.md:1 · 2026-02-11 · run-1 (newer) and knowledge/owners.md:1 · 2025-12-01 · run-0.";
  expect((await use("memory_search", { query: "who is responsible for billing" }))[1]).toContain(says);
  writeFileSync(join(dir, "memory", "filler.md"), `# Filler\n\n${"Nothing of note. ".repeat(2000)}`);
  expect((await use("memory_search", { query: "who is responsible for billing" }))[1]).toContain(says);
});

test("a note without a day is of the day on which its file was changed where the person is", async () => {
  timeZone = "Asia/Tokyo";
  mkdirSync(join(dir, "memory/knowledge"));
  const noted = (name: string, words: string, at: number) => {
    const file = join(dir, "memory/knowledge", name);
    writeFileSync(file, words);
    utimesSync(file, at / 1000, at / 1000);
  };
  noted("a.md", "The printer stands in room 4.\n", Date.UTC(2026, 1, 9, 23, 30));
  noted("b.md", "The printer stands in room 9.\n", Date.UTC(2026, 1, 8, 23, 30));
  const [, written] = await use("memory_write", { path: "knowledge/c.md", content: "The printer stands in room 7." });
  expect(written).toContain("- knowledge/a.md:1 · 2026-02-10:");
  const [, found] = await use("memory_search", { query: "printer" });
  expect(found).toContain("knowledge/a.md:1 · 2026-02-10 (newer) and knowledge/b.md:1 · 2026-02-09.");
});
