import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { agentMemoryFiles, workerMemoryFiles } from "../store/run/memory-files.ts";
import { temporaryHome } from "../testing/temporary-home.ts";
import { Memory } from "./memory.ts";
import { recall } from "./recall.ts";
import { upkeepOf } from "./upkeep.ts";

let dir: string;
let memory: Memory;
let now = Date.UTC(2026, 1, 11, 14, 5);

beforeEach(async () => {
  const home = await temporaryHome();
  dir = join(home.path, "agents", "agent-test");
  mkdirSync(join(dir, "memory"), { recursive: true });
  mkdirSync(join(dir, "runs", "run-1", "workers", "alice"), { recursive: true });
  writeFileSync(join(dir, "MEMORY.md"), "");
  now = Date.UTC(2026, 1, 11, 14, 5);
  memory = new Memory(agentMemoryFiles(dir), { now: () => now, timeZone: "UTC" });
  return () => home.remove();
});

const text = (path: string) => readFileSync(join(dir, path), "utf8");
const refused = (work: Promise<unknown>) =>
  work.then(
    () => "done",
    (error: Error) => error.message,
  );

describe("what is no longer true", () => {
  beforeEach(() =>
    memory.write("preferences/tea.md", "# Tea\n\n## Sort\n\nLikes oolong.\n\n## Time\n\nAt four.", "append"),
  );

  test("new words take the place of old ones, and the version before can be brought back and away again", async () => {
    await memory.supersede("preferences/tea.md", "Likes oolong.", "Likes sencha.");
    expect(text("memory/preferences/tea.md")).toContain("## Sort\n\nLikes sencha.\n\n## Time");
    now += 1000;
    const undone = await memory.undo("preferences/tea.md");
    expect(text("memory/preferences/tea.md")).toContain("Likes oolong.");
    expect(undone.version).toMatch(/^2026-02-11T14-05-00-000Z-[0-9a-f]{8}\.md$/);
    now += 1000;
    await memory.undo("preferences/tea.md");
    expect(text("memory/preferences/tea.md")).toContain("Likes sencha.");
  });

  test("a version is kept also where the new words begin with the old ones", async () => {
    await memory.write("knowledge/budget.md", "The budget is 5", "append");
    await memory.write("knowledge/budget.md", "The budget is 50", "replace");
    await memory.undo("knowledge/budget.md");
    expect(text("memory/knowledge/budget.md")).toBe("The budget is 5\n");
  });

  test("a section is forgotten by its heading, any words by themselves", async () => {
    await memory.forget("preferences/tea.md", "## Sort");
    expect(text("memory/preferences/tea.md")).toBe("# Tea\n\n## Time\n\nAt four.\n");
    await memory.forget("preferences/tea.md", "At four.");
    expect(text("memory/preferences/tea.md")).toBe("# Tea\n\n## Time\n");
  });

  test.each([
    ["- Prefers short answers in British English.", "in British English", "- Prefers short answers."],
    [
      "- Likes short answers, in British English, and no emoji.",
      ", in British English",
      "- Likes short answers, and no emoji.",
    ],
    ["- One.\n- Two.\n- Three.", "Two.", "- One.\n- Three."],
    ["- One.\n- Two.\n- Three.", "- Two.", "- One.\n\n- Three."],
  ])("of %j without %j stays %j", async (before, what, after) => {
    await memory.write("knowledge/a.md", before, "replace");
    await memory.forget("knowledge/a.md", what);
    expect(text("memory/knowledge/a.md")).toBe(`${after}\n`);
  });

  test.each([
    ["Likes coffee.", "does not say that"],
    ["", "does not say that"],
    ["e", "more than once"],
  ])("%j is refused, and nothing changes", async (words, why) => {
    const before = text("memory/preferences/tea.md");
    expect(await refused(memory.forget("preferences/tea.md", words))).toContain(why);
    expect(await refused(memory.supersede("preferences/tea.md", words, "x"))).toContain(why);
    expect(text("memory/preferences/tea.md")).toBe(before);
  });

  test("a file that is not there is named, and a place is taken as a search names it", async () => {
    expect(await refused(memory.forget("preferences/nobody.md", "x"))).toContain(
      "There is nothing in preferences/nobody.md",
    );
    expect(await memory.read("preferences/tea.md:3")).toContain("Likes oolong.");
  });

  test("a daily log is neither rewritten nor shortened", async () => {
    await memory.write(memory.today, "Began.", "append");
    expect(await refused(memory.forget(memory.today, "Began."))).toContain("only grows");
    expect(await refused(memory.supersede(memory.today, "Began.", "Ended."))).toContain("only grows");
  });

  test("versions are neither listed nor searched, and adding keeps none", async () => {
    await memory.write("preferences/tea.md", "Strong.", "append");
    expect(await refused(memory.undo("preferences/tea.md"))).toContain("no earlier version");
    await memory.write("preferences/tea.md", "Likes water.", "replace");
    expect((await memory.list()).map(({ path }) => path)).toEqual(["MEMORY.md", "index.md", "preferences/tea.md"]);
  });
});

describe("writing", () => {
  test("appends or replaces, and says where the file is", async () => {
    const first = await memory.write("knowledge/chips.md", "# Chips\n\nHot.", "append");
    await memory.write("memory/knowledge/chips.md", "Dear.", "append");
    expect(first).toEqual({ path: "memory/knowledge/chips.md", bytes: 14 });
    expect(text("memory/knowledge/chips.md")).toBe("# Chips\n\nHot.\n\nDear.\n");
    expect(await memory.write("MEMORY.md", "Chips are hot.", "replace")).toEqual({ path: "MEMORY.md", bytes: 15 });
    expect(text("MEMORY.md")).toBe("Chips are hot.\n");
  });

  test("the same words twice in a row are there once", async () => {
    for (const path of ["knowledge/chips.md", memory.today]) {
      await memory.write(path, "Hot.", "append");
      await memory.write(path, "Hot.", "append");
      expect(text(`memory/${path}`).match(/Hot/g)).toEqual(["Hot"]);
    }
  });

  test("an entry that ends like the one before is kept, and so is a last line said again in full", async () => {
    await memory.write("knowledge/chips.md", "Chips run hot.", "append");
    await memory.write("knowledge/chips.md", "hot.", "append");
    expect(text("memory/knowledge/chips.md")).toBe("Chips run hot.\n\nhot.\n");
  });

  test("writes side by side, by different tools of the same agent, are all there", async () => {
    const others = [memory, new Memory(agentMemoryFiles(dir), { now: () => now, timeZone: "UTC" })];
    const words = Array.from({ length: 20 }, (_, at) => `Note ${at}.`);
    await Promise.all(words.map((note, at) => others[at % 2]?.write("knowledge/notes.md", note, "append")));
    expect(text("memory/knowledge/notes.md").trim().split("\n\n").toSorted()).toEqual(words.toSorted());
  });

  test("what somebody saved after it was read is not replaced, but told", async () => {
    await memory.write("knowledge/chips.md", "Hot.", "append");
    await memory.read("knowledge/chips.md");
    writeFileSync(join(dir, "memory/knowledge/chips.md"), "Hot, says Ann.\n");
    expect(await refused(memory.write("knowledge/chips.md", "Cold.", "replace"))).toContain(
      "somebody changed it since you read it",
    );
    expect(text("memory/knowledge/chips.md")).toBe("Hot, says Ann.\n");
    await memory.read("knowledge/chips.md");
    await memory.write("knowledge/chips.md", "Cold, says Ann.", "replace");
    expect(text("memory/knowledge/chips.md")).toBe("Cold, says Ann.\n");
  });

  test("what somebody saves while an entry is being added stays", async () => {
    await memory.write("knowledge/chips.md", "Hot.", "append");
    const { scope } = memory.files;
    const readFile = scope.readFile.bind(scope);
    let saves = 1;
    scope.readFile = async (path, options) => {
      const content = await readFile(path, options);
      if (path === "knowledge/chips.md" && saves-- > 0)
        writeFileSync(join(dir, "memory/knowledge/chips.md"), "Hot.\n\nDear.\n");
      return content;
    };
    await memory.write("knowledge/chips.md", "Rare.", "append");
    expect(text("memory/knowledge/chips.md")).toBe("Hot.\n\nDear.\n\nRare.\n");
  });

  test("a daily log tells the time, and only grows", async () => {
    await memory.write(memory.today, "Began.", "append");
    now += 60_000;
    await memory.write(memory.today, "Went on.", "append");
    expect(text("memory/2026-02-11.md")).toBe("## 14:05\n\nBegan.\n\n## 14:06\n\nWent on.\n");
    expect(await refused(memory.write("2026-02-11.md", "Nothing happened.", "replace"))).toBe(
      "2026-02-11.md is a daily log and only grows. Append to it, or correct it in a new line.",
    );
  });

  test.each([
    [
      "../GOAL.md",
      '"../GOAL.md" has a name in it that begins with a dot. Use plain names, e.g. knowledge/ai-chips.md.',
    ],
    ["/etc/passwd.md", "it is absolute"],
    [".hidden.md", "begins with a dot"],
    ["run.sh", "end in .md"],
    ["knowledge", "end in .md"],
    ["a\0.md", "control character"],
  ])("%j is refused, and nothing changes", async (path, why) => {
    expect(await refused(memory.write(path, "x", "append"))).toContain(why);
    expect((await memory.list()).map((file) => file.path)).toEqual(["MEMORY.md"]);
  });

  test("nothing to say, and too much, are refused", async () => {
    expect(await refused(memory.write("a.md", " \n", "append"))).toBe("There is nothing to remember in empty content.");
    expect(await refused(memory.write("a.md", "x".repeat(1024 * 1024 + 1), "append"))).toContain(
      "at most 1048576 bytes",
    );
    expect((await memory.list()).map((file) => file.path)).toEqual(["MEMORY.md"]);
  });

  test("a worker has two files of its own and no others", async () => {
    const alice = new Memory(workerMemoryFiles(dir, "run-1", "alice"), { now: () => now, timeZone: "UTC" });
    expect(await alice.write("memory.md", "Ask Bob.", "append")).toEqual({
      path: "runs/run-1/workers/alice/memory.md",
      bytes: 9,
    });
    const others = ["MEMORY.md", "identity.md", "knowledge/chips.md", "../bob/memory.md"];
    const answers = await Promise.all(others.map((path) => refused(alice.write(path, "x", "append"))));
    expect(answers.filter((answer) => answer === "done")).toEqual([]);
    expect(answers[1]).toContain("Yours are memory.md and notebook.md.");
    expect((await alice.list()).map((file) => file.path)).toEqual(["memory.md"]);
  });
});

describe("index.md", () => {
  const LINE = "<!-- Below this line Agiraph lists what is stored. Write above it. -->";

  test("lists what is stored, beneath what the agent wrote itself", async () => {
    await memory.write("knowledge/chips.md", "# AI chips\n\nHot.", "append");
    await memory.write("index.md", "Chips matter most.", "replace");
    await memory.write(memory.today, "Began.", "append");
    await memory.write("index.md", "Tea comes second.", "append");
    expect(text("memory/index.md")).toBe(
      `Chips matter most.\n\nTea comes second.\n\n${LINE}\n\n- knowledge/chips.md (17 bytes): AI chips\n- daily logs (YYYY-MM-DD.md): 1, from 2026-02-11 to 2026-02-11\n`,
    );
  });

  test("follows what people add and remove by hand, at the next start", async () => {
    await memory.write("knowledge/chips.md", "# AI chips", "append");
    writeFileSync(join(dir, "memory", "tea.md"), "# Tea\n");
    rmSync(join(dir, "memory", "knowledge"), { recursive: true });
    await recall(memory, 1000);
    expect(text("memory/index.md")).toBe(`${LINE}\n\n- tea.md (6 bytes): Tea\n`);
  });
});

describe("recall", () => {
  test("is empty while nothing is remembered", async () => {
    expect(await recall(memory, 1000)).toBe("");
    expect((await memory.list()).map((file) => file.path)).toEqual(["MEMORY.md"]);
  });

  test("is MEMORY.md, the index and the last two daily logs, whenever they were", async () => {
    for (const day of ["2026-01-05", "2026-01-20", "2026-02-01"])
      await memory.write(`${day}.md`, `On ${day}.`, "append");
    await memory.write("MEMORY.md", "Chips are hot.", "replace");
    const words = await recall(memory, 1000);
    expect(words.split("\n").filter((line) => line.startsWith("## ") || line.startsWith("On "))).toEqual([
      "## MEMORY.md",
      "## index.md",
      "## 2026-02-01.md",
      "## 14:05",
      "On 2026-02-01.",
      "## 2026-01-20.md",
      "## 14:05",
      "On 2026-01-20.",
    ]);
    expect(words).toContain("## MEMORY.md\n\nChips are hot.");
  });

  test("lists in the index only what is not shown beside it", async () => {
    const listed = async () => (await recall(memory, 1000)).split(/^## index\.md\n\n/m)[1]?.split("\n\n## ")[0];
    await memory.write("MEMORY.md", "Chips are hot.", "replace");
    await memory.write("preferences/tea.md", "Steep twice.", "append");
    for (const day of ["2026-01-05", "2026-01-20"]) await memory.write(`${day}.md`, "Began.", "append");
    expect(await listed()).toBe(undefined);
    await memory.write("knowledge/chips.md", "# AI chips (7 bytes)", "append");
    await memory.write("2026-02-01.md", "Began.", "append");
    await memory.write("index.md", "Chips matter most.", "replace");
    expect(await listed()).toBe(
      "Chips matter most.\n\n- knowledge/chips.md (21 bytes): AI chips (7 bytes)\n- daily logs (YYYY-MM-DD.md): 3, from 2026-01-05 to 2026-02-01",
    );
    expect(text("memory/index.md")).toContain("- MEMORY.md (15 bytes): Chips are hot.\n");
  });

  test("shows of a daily log the entries that it is told to, and nothing of one that has none", async () => {
    for (const entry of ["One.", "Two.", "Three."]) await memory.write("2026-02-01.md", entry, "append");
    await memory.write("2026-01-20.md", "Two.", "append");
    const words = await recall(memory, 1000, (entries) => entries.filter((entry) => !entry.endsWith("\n\nTwo.")));
    expect(words).toBe("## 2026-02-01.md\n\n## 14:05\n\nOne.\n\n## 14:05\n\nThree.");
  });

  test("a file that may not be opened is said to be so, and the others are there", async () => {
    await memory.write("MEMORY.md", "Chips are hot.", "replace");
    await memory.write(memory.today, "Began.", "append");
    linkSync(join(dir, "MEMORY.md"), join(dir, "backup.md"));
    const words = await recall(memory, 1000);
    expect([words.includes("MEMORY.md has a second name elsewhere"), words.includes("Began.")]).toEqual([true, true]);
  });

  test("after a year of entries what the human prefers and the newest of MEMORY.md are still shown", async () => {
    await memory.write("preferences/writing.md", "Short sentences, no emoji.", "append");
    const days = Array.from({ length: 365 }, (_, day) => day);
    for (const day of days) writeFileSync(join(dir, "memory", `topic-${day}.md`), `# Topic ${day}\n\nFacts.\n`);
    writeFileSync(join(dir, "MEMORY.md"), days.map((day) => `- Day ${day}: ${"it rained ".repeat(9)}`).join("\n\n"));
    const words = await recall(memory, 8000);
    const newest = Array.from({ length: 20 }, (_, at) => `- Day ${345 + at}: `);
    expect(newest.filter((line) => !words.includes(line))).toEqual([]);
    // The index lists the file with its first words: only the file itself comes first.
    expect(words.startsWith("## preferences/writing.md\n\nShort sentences, no emoji.")).toBe(true);
    expect([words.includes("no emoji"), Buffer.byteLength(words) < 33_000]).toEqual([true, true]);
  });

  test("a write past what is shown is answered with a warning", async () => {
    expect(await memory.write("MEMORY.md", "- Tea.", "append")).toEqual({ path: "MEMORY.md", bytes: 7 });
    const long = await memory.write("MEMORY.md", "- Tea.\n".repeat(2000), "replace");
    expect(long.warning).toContain("MEMORY.md has 14000 bytes now, and only 12000 of them are shown");
    expect(await upkeepOf(memory, now)).toMatch(
      /MEMORY\.md has 14000 bytes; 12000 are shown .* replace it \(mode replace\) by at most 12000 bytes/,
    );
  });

  test("keeps to its budget and names what it left out: the middle of MEMORY.md, the beginning of a log", async () => {
    const lines = (word: string) => Array.from({ length: 400 }, (_, i) => `- ${word} ${i}`).join("\n");
    writeFileSync(join(dir, "MEMORY.md"), lines("insight"));
    writeFileSync(join(dir, "memory", "2026-02-11.md"), lines("event"));
    const words = await recall(memory, 500);
    expect(Buffer.byteLength(words)).toBeLessThan(500 * 4 + 1000);
    const shown = ["- insight 0\n", "- insight 200\n", "- insight 399"].map((line) => words.includes(line));
    expect(shown).toEqual([true, false, true]);
    expect([words.includes("- event 1\n"), words.endsWith("- event 399")]).toEqual([false, true]);
    expect(words.match(/of (MEMORY|2026-02-11)\.md are left out here/g)).toHaveLength(2);
  });
});

test("days are those of the person's time zone", () => {
  const late = Date.parse("2026-03-01T23:30:00Z");
  const files = agentMemoryFiles(dir);
  const days = ["UTC", "Europe/Berlin", "America/New_York"].map(
    (timeZone) => new Memory(files, { now: () => late, timeZone }).today,
  );
  expect(days).toEqual(["2026-03-01.md", "2026-03-02.md", "2026-03-01.md"]);
  expect(new Memory(files, { now: () => late, timeZone: "Asia/Tokyo" }).dayOf(late)).toBe("2026-03-02");
});
