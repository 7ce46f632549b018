import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { agentMemoryFiles, type MemoryFiles } from "../store/run/memory-files.ts";
import { temporaryHome } from "../testing/temporary-home.ts";
import type { Embedder } from "./meaning.ts";
import { type SearchOptions, searchMemory, unsearched } from "./search.ts";

let dir: string;
let memory: MemoryFiles;

beforeEach(async () => {
  const home = await temporaryHome();
  dir = join(home.path, "agents", "agent-test");
  mkdirSync(join(dir, "memory", "knowledge"), { recursive: true });
  memory = agentMemoryFiles(dir);
  put(
    "knowledge/chips.md",
    "# AI chips\n\n## Heat\n\nThe H100 throttles at 88 degrees.\n\n## Price\n\nAbout 30,000 dollars each.\n",
  );
  put("knowledge/asyncio.md", "# Python asyncio\n\nGather runs coroutines concurrently; a semaphore bounds them.\n");
  return () => home.remove();
});

const put = (path: string, text: string) => writeFileSync(join(dir, "memory", path), text);
const index = () => join(dir, ".index", "memory.sqlite");
const first = async (query: string, options: Partial<SearchOptions> = {}) => {
  const [best] = await searchMemory(memory, query, { timeZone: "UTC", tokens: 4000, ...options });
  return best && [best.path, ...best.headings];
};

test("the best section comes first, whatever form its words have", async () => {
  const [best] = await searchMemory(memory, "When does the h100 throttle?", { timeZone: "UTC", tokens: 4000 });
  expect(best).toEqual({
    path: "knowledge/chips.md",
    headings: ["AI chips", "Heat"],
    from_line: 3,
    to_line: 5,
    text: "## Heat\n\nThe H100 throttles at 88 degrees.",
    day: new Date().toISOString().slice(0, 10),
    score: expect.any(Number),
  });
  expect(await first("bounding coroutine concurrency")).toEqual(["knowledge/asyncio.md", "Python asyncio"]);
});

test("a file's name and the headings above a section are words of it too", async () => {
  expect(await first("price of chips")).toEqual(["knowledge/chips.md", "AI chips", "Price"]);
});

test.each([
  ["camelCase by its parts", "The limit is maxHops, twelve.", "max hops"],
  ["snake_case by a camelCase name", "The limit is max_hops, twelve.", "maxHops"],
  ["an umlaut written as two letters", "Die Tür klemmt.", "Tuer"],
  ["two letters asked for as an umlaut", "Die Tuer klemmt.", "Tür"],
  ["ß written as ss", "Die Straße ist gesperrt.", "Strasse"],
  ["a Korean word without its particle", "우리는 학교에서 만났다.", "학교"],
  ["a slip of the keyboard", "The telephone rang twice.", "telehpone"],
  ["the last part of a compound", "Die Datenbankverbindung bricht ab.", "Verbindung"],
])("finds %s", async (_, text, query) => {
  put("knowledge/note.md", `# Note\n\n${text}\n`);
  expect(await first(query)).toEqual(["knowledge/note.md", "Note"]);
});

test("of two notes that say the same of a thing the newer comes first, and each hit tells its day", async () => {
  put("2026-01-05.md", "## 09:00\n\nThe door code is 1111.\n");
  put("2026-06-30.md", "## 09:00\n\nThe door code is 2222, and nobody likes it much.\n");
  put("2025-11-12.md", "## 09:00\n\nThe door code is 3333.\n");
  const found = await searchMemory(memory, "What is the door code?", { timeZone: "UTC", tokens: 4000 });
  expect(found.map(({ path, day }) => [path, day])).toEqual([
    ["2026-06-30.md", "2026-06-30"],
    ["2026-01-05.md", "2026-01-05"],
    ["2025-11-12.md", "2025-11-12"],
  ]);
});

test("a file that names no day is of the day on which it was changed where the person is; a day that is named stays", async () => {
  put("knowledge/door.md", "# Door\n\nThe door code is 4444.\n");
  put("2026-03-01.md", "## 09:00\n\nThe door code is 1111.\n");
  utimesSync(join(dir, "memory/knowledge/door.md"), LATE, LATE);
  const days = async (timeZone: string) =>
    (await searchMemory(memory, "door code", { timeZone, tokens: 4000 }))
      .map(({ path, day }) => `${path} ${day}`)
      .sort();
  expect(await days("UTC")).toEqual(["2026-03-01.md 2026-03-01", "knowledge/door.md 2026-03-01"]);
  expect(await days("Asia/Tokyo")).toEqual(["2026-03-01.md 2026-03-01", "knowledge/door.md 2026-03-02"]);
  expect(await days("America/Los_Angeles")).toContain("2026-03-01.md 2026-03-01");
});

const LATE = new Date(Date.UTC(2026, 2, 1, 23, 30));

test("a word is found by its other forms, and a day by any way to write it", async () => {
  put("2023-05-08.md", "## 14:05\n\nWe went home.\n");
  put("knowledge/trip.md", "Session of 9 June, 2023\n\n# Ferry\n\nIt left late.\n");
  expect([await first("who goes home"), await first("8th of May"), await first("What was on 2023-06-09?")]).toEqual([
    ["2023-05-08.md", "14:05"],
    ["2023-05-08.md", "14:05"],
    ["knowledge/trip.md"],
  ]);
  expect(
    (await searchMemory(memory, "June 9", { timeZone: "UTC", tokens: 4000 })).map(({ headings }) => headings),
  ).toEqual([[], ["Ferry"]]);
});

test("accents do not matter, and scripts without spaces are found by any part", async () => {
  put("knowledge/notes.md", "# Zürich\n\nCafé Müller.\n");
  put("knowledge/zh.md", "# 异步\n\n协程比线程便宜，因为切换由程序自己决定。\n");
  expect([await first("zurich cafe muller"), await first("线程 切换")]).toEqual([
    ["knowledge/notes.md", "Zürich"],
    ["knowledge/zh.md", "异步"],
  ]);
});

test("nothing in a question is taken for an operator, and words that say nothing find nothing by themselves", async () => {
  expect(await first('"heat" AND NOT (chips) NEAR/3 * ^ : - "')).toEqual(["knowledge/chips.md", "AI chips", "Heat"]);
  expect([await first("?!"), await first("zzz"), await first("")]).toEqual([undefined, undefined, undefined]);
});

test("answers fill the budget: the best always has room, more come with more of it", async () => {
  put(
    "knowledge/many.md",
    Array.from({ length: 40 }, (_, i) => `## Coolant ${i}\n\nCoolant ${"water ".repeat(60)}`).join("\n"),
  );
  const counts = [1, 500, 2000].map(
    async (tokens) => (await searchMemory(memory, "coolant", { timeZone: "UTC", tokens })).length,
  );
  expect(await Promise.all(counts)).toEqual([1, 5, 20]);
  expect((await searchMemory(memory, "coolant", { timeZone: "UTC", tokens: 1, least: 10 })).length).toBe(10);
});

test("of two sections that say the same, the one beside the answer comes first; and one beside it that says nothing of it is found", async () => {
  const turns = (...words: string[]) => words.map((each, at) => `## Turn ${at}\n\n${each}\n`).join("\n");
  put("2026-01-01.md", turns("Ten minutes of meetings.", "Lunch."));
  put("2026-01-02.md", turns("How was the marathon?", "It took ten minutes more.", "Proud."));
  const found = await searchMemory(memory, "marathon minutes", { timeZone: "UTC", tokens: 4000 });
  expect(found.map(({ path, headings }) => [path, ...headings])).toEqual([
    ["2026-01-02.md", "Turn 0"],
    ["2026-01-02.md", "Turn 1"],
    ["2026-01-01.md", "Turn 0"],
    ["2026-01-01.md", "Turn 1"],
    ["2026-01-02.md", "Turn 2"],
  ]);
});

describe("the files are the truth", () => {
  test("what is edited, added or removed by hand is so in the next search", async () => {
    await first("heat");
    put("knowledge/chips.md", "# AI chips\n\n## Heat\n\nLiquid cooling solved the problem.\n");
    put("knowledge/tea.md", "# Oolong\n\nSteep twice.\n");
    rmSync(join(dir, "memory", "knowledge", "asyncio.md"));
    expect([
      await first("liquid cooling"),
      await first("oolong"),
      await first("price"),
      await first("coroutines"),
    ]).toEqual([["knowledge/chips.md", "AI chips", "Heat"], ["knowledge/tea.md", "Oolong"], undefined, undefined]);
  });

  test("a link is not followed, a hidden file is not read, and the listing is no memory", async () => {
    put("knowledge/.secret.md", "# Xylophone\n");
    put("index.md", "Xylophone\n");
    expect(await first("xylophone")).toBeUndefined();
  });
});

describe("the index is disposable", () => {
  const ANSWER = ["knowledge/chips.md", "AI chips", "Heat"];

  test.each<[string, () => void]>([
    ["deleted", () => rmSync(index())],
    ["garbage", () => writeFileSync(index(), "not a database ".repeat(1000))],
    ["empty", () => truncateSync(index(), 0)],
    ["cut off", () => truncateSync(index(), statSync(index()).size / 2)],
    ["damaged in the middle", () => damage(index())],
  ])("%s, it is made again", async (_, spoil) => {
    expect(await first("heat throttles")).toEqual(ANSWER);
    spoil();
    expect(await first("heat throttles")).toEqual(ANSWER);
    expect(await sectionsOnDisk()).toBe(3);
  });

  test("two searches at once, and one while another process is at work on it, answer the same", async () => {
    expect(await Promise.all([first("heat throttles"), first("heat throttles")])).toEqual([ANSWER, ANSWER]);
    const { DatabaseSync } = await import("node:sqlite");
    const other = new DatabaseSync(index());
    other.exec("begin exclusive");
    const before = statSync(index()).ino;
    expect([await first("heat throttles"), statSync(index()).ino]).toEqual([ANSWER, before]);
    other.exec("rollback");
    other.close();
  });

  test("made by another version, it is begun anew", async () => {
    await first("heat");
    const { DatabaseSync } = await import("node:sqlite");
    const other = new DatabaseSync(index());
    other.exec("pragma user_version = 1; insert into words (words) values ('delete-all')");
    other.close();
    expect(await first("heat throttles")).toEqual(ANSWER);
  });

  test("where it cannot be kept, the search is done without", async () => {
    writeFileSync(join(dir, ".index"), "a file where the folder should be");
    expect(await first("heat throttles")).toEqual(ANSWER);
    rmSync(join(dir, ".index"));
    mkdirSync(index(), { recursive: true });
    expect(await first("heat throttles")).toEqual(ANSWER);
    rmSync(join(dir, ".index"), { recursive: true });
    mkdirSync(join(dir, ".index"), { mode: 0o500 });
    chmodSync(join(dir, ".index"), 0o500);
    expect(await first("heat throttles")).toEqual(ANSWER);
  });

  test("to look makes none and changes none, and sees what it does not say yet", async () => {
    expect(await first("heat throttles", { look: true })).toEqual(ANSWER);
    expect(existsSync(dirname(index()))).toBe(false);
    mkdirSync(dirname(index()));
    await first("heat throttles", { look: true });
    expect(readdirSync(dirname(index()))).toEqual([]);
    await first("heat");
    const before = statSync(index(), { bigint: true }).mtimeNs;
    put("knowledge/tea.md", "# Oolong\n");
    expect([await first("oolong", { look: true }), await first("heat", { look: true })]).toEqual([
      ["knowledge/tea.md", "Oolong"],
      ANSWER,
    ]);
    expect([readdirSync(dirname(index())), statSync(index(), { bigint: true }).mtimeNs]).toEqual([
      ["memory.sqlite"],
      before,
    ]);
  });
});

describe("a provider's embeddings, where somebody chose them", () => {
  /** Nearness in meaning, by hand: about heat, about money, about neither. */
  const asked: string[][] = [];
  const embedder: Embedder = {
    id: "test/three",
    async embed(texts) {
      asked.push([...texts]);
      return texts.map((text) =>
        Float32Array.from(
          [/heat|degrees|warm/i, /price|dollars|cost/i, /./].map((about) => (about.test(text) ? 1 : 0)),
        ),
      );
    },
  };

  test("add what the words miss, and leave what the words found first", async () => {
    const found = await searchMemory(memory, "what does one cost, coroutines?", {
      timeZone: "UTC",
      tokens: 4000,
      embedder,
    });
    expect(found.map(({ path, headings }) => [path, headings.at(-1)])).toEqual([
      ["knowledge/asyncio.md", "Python asyncio"],
      ["knowledge/chips.md", "Price"],
      ["knowledge/chips.md", "Heat"],
    ]);
  });

  test("are paid for once for each text", async () => {
    await searchMemory(memory, "cost", { timeZone: "UTC", tokens: 4000, embedder });
    asked.length = 0;
    put("knowledge/tea.md", "# Oolong\n\nSteep twice.\n");
    await searchMemory(memory, "warm", { timeZone: "UTC", tokens: 4000, embedder });
    expect(asked).toEqual([["# Oolong\n\nSteep twice."], ["warm"]]);
  });

  test("go with the text that they are of, also where the next search uses none", async () => {
    await searchMemory(memory, "cost", { timeZone: "UTC", tokens: 4000, embedder });
    const before = Number(await vectorsOnDisk());
    put("knowledge/chips.md", "# AI chips\n");
    await searchMemory(memory, "cost", { timeZone: "UTC", tokens: 4000 });
    expect(before - Number(await vectorsOnDisk())).toBe(2);
  });

  test("cost nothing but their part when they fail", async () => {
    const broken: Embedder = { id: "test/broken", embed: () => Promise.reject(new Error("503")) };
    expect(await first("heat throttles", { embedder: broken })).toEqual(["knowledge/chips.md", "AI chips", "Heat"]);
  });
});

const sectionsOnDisk = () => rowsOnDisk("section");
const vectorsOnDisk = () => rowsOnDisk("vector");

async function rowsOnDisk(table: string): Promise<unknown> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(index(), { readOnly: true });
  try {
    return database.prepare(`select count(*) as rows from ${table}`).get()?.rows;
  } finally {
    database.close();
  }
}

/** The header stays, so that only using it shows the damage. */
function damage(path: string): void {
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0xa5, 100));
}

test("of what stands beside and has none of the words only little is shown, near the top", async () => {
  const sections = Array.from({ length: 40 }, (_, at) => `## Part ${at}\n\n${at % 3 === 0 ? "Oolong." : "Nothing."}\n`);
  put("knowledge/parts.md", sections.join("\n"));
  const found = await searchMemory(memory, "oolong", { timeZone: "UTC", tokens: 4000 });
  expect(found.filter(({ text }) => text.includes("Oolong"))).toHaveLength(14);
  expect(found.filter(({ text }) => !text.includes("Oolong")).length).toBeLessThanOrEqual(3);
});

test("what is too much to be searched is said", () => {
  const file = (path: string, bytes: number) => ({ path, bytes, stamp: "1", changedAt: 0 });
  expect(unsearched([file("a.md", 1)])).toEqual([]);
  expect(unsearched([file("a.md", 9 * 1024 ** 2)])).toEqual([
    "Of a.md only the first 8 MB are searched. Split it by topic.",
  ]);
  expect(unsearched(Array.from({ length: 50_000 }, (_, at) => file(`${at}.md`, 1)))[0]).toContain("Only 50000 files");
});
