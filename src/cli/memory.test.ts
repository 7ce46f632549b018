import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { Memory } from "../memory/memory.ts";
import { agentMemoryFiles, personMemoryFiles } from "../store/run/memory-files.ts";
import { call, script, startTeam, type TemporaryHome, temporaryHome } from "../testing/index.ts";
import { agiraph } from "./testing/cli-process.ts";

let folder: TemporaryHome;
let dir: string;

beforeAll(async () => {
  folder = await temporaryHome();
  const home = join(folder.path, "home");
  const coordinator = script(
    call("memory_write", {
      path: "knowledge/chips.md",
      content: "# Chips\n\n## Heat\n\nThey throttle at 88\u001b[2J.",
    }),
    call("finish", { summary: "Known." }),
  );
  const team = await startTeam({ goal: "Learn about chips", coordinator, home });
  await team.outcome();
  dir = team.agent.log.dir;
  await team[Symbol.asyncDispose]();
  return () => folder.remove();
});

const memory = (...words: string[]) =>
  agiraph(["memory", "learn", ...words], { folder: folder.path, env: { AGIRAPH_HOME: join(folder.path, "home") } });

/** When and by which run a note was written, at its end. */
const WRITTEN = /^\(\d{4}-\d\d-\d\d, run-1\)$/;
const lines = (text: string) => text.split("\n").filter(Boolean);

test("what an agent remembers is listed with its sizes", async () => {
  const { code, stdout } = await memory();
  expect([code, lines(stdout).map((line) => line.split(/ {2,}/)[0])]).toEqual([
    0,
    [dir, "MEMORY.md", expect.stringMatching(/^\d{4}-\d\d-\d\d\.md$/), "index.md", "knowledge/chips.md"],
  ]);
  const json = lines((await memory("--json")).stdout).map((line) => JSON.parse(line));
  expect(json.at(-1)).toEqual({
    path: "knowledge/chips.md",
    bytes: 64,
    absolute: join(dir, "memory/knowledge/chips.md"),
  });
});

test("words find sections, best first, and nothing is written to look", async () => {
  const { code, stdout } = await memory("does", "it", "throttle?");
  expect([code, lines(stdout)]).toEqual([
    0,
    ["knowledge/chips.md:3 › Chips › Heat", "## Heat", "They throttle at 88.", expect.stringMatching(WRITTEN)],
  ]);
  expect(lines((await memory("throttling", "--json")).stdout).map((line) => JSON.parse(line))).toEqual([
    {
      path: "knowledge/chips.md",
      headings: ["Chips", "Heat"],
      from_line: 3,
      to_line: 7,
      text: expect.stringContaining("## Heat\n\nThey throttle at 88\u001b[2J.\n\n("),
      day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      score: expect.any(Number),
    },
  ]);
  expect(existsSync(join(dir, ".index"))).toBe(false);
});

test("a file is shown by its path; what is not there, or not memory, is refused in words", async () => {
  expect(await memory("--path", "knowledge/chips.md")).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^# Chips\n\n## Heat\n\nThey throttle at 88\.\n\n\(.*, run-1\)\n$/),
    stderr: "",
  });
  const [missing, outside, both, nothing] = await Promise.all([
    memory("--path", "knowledge/chps.md"),
    memory("--path", "../GOAL.md"),
    memory("heat", "--path", "MEMORY.md"),
    memory("zzz"),
  ]);
  expect([missing.code, missing.stderr]).toEqual([
    1,
    "✗ There is no knowledge/chps.md. In knowledge there is: chips.md.\n",
  ]);
  expect([outside.code, both.code]).toEqual([1, 2]);
  expect((await Promise.all([memory("heat", "--limit", "0"), memory("--limit", "3")])).map(({ code }) => code)).toEqual(
    [2, 2],
  );
  expect(nothing).toEqual({
    code: 0,
    stdout: "",
    stderr: "Nothing that it remembers contains any of these words. Try others.\n",
  });
});

test("what was replaced is listed, and brought back and away again", async () => {
  expect((await memory("--history", "knowledge/chips.md")).stderr).toContain("No earlier version");
  const kept = new Memory(agentMemoryFiles(dir), { now: Date.now, timeZone: "UTC" });
  await kept.supersede("knowledge/chips.md", "They throttle at 88\u001b[2J.", "They throttle at 90.");
  const [version] = lines((await memory("--history", "knowledge/chips.md", "--json")).stdout).map((line) =>
    JSON.parse(line),
  );
  expect(version).toEqual({ name: expect.any(String), replacedAt: expect.any(String), bytes: 64 });
  const undone = JSON.parse((await memory("--undo", "knowledge/chips.md", "--json")).stdout);
  expect(undone).toEqual({ path: "memory/knowledge/chips.md", bytes: 64, version: version.name });
  expect((await memory("--path", "knowledge/chips.md")).stdout).toContain("88");
  await memory("--undo", "knowledge/chips.md");
  expect((await memory("--path", "knowledge/chips.md")).stdout).toContain("90");
  expect((await memory("--undo", "a.md", "--path", "b.md")).code).toBe(2);
});

test("what all agents share about their human is listed, found, shown and brought back by itself", async () => {
  const home = join(folder.path, "home");
  const person = (...words: string[]) =>
    agiraph(["memory", "--person", ...words], { folder: folder.path, env: { AGIRAPH_HOME: home } });
  expect((await person()).stderr).toContain("It remembers nothing yet.");
  const shared = new Memory(personMemoryFiles(home), { now: Date.now, timeZone: "UTC" });
  await shared.write("preferences/tea.md", "# Tea\n\nLikes oolong.", "append");
  await shared.supersede("preferences/tea.md", "oolong", "sencha");
  const listed = lines((await person("--json")).stdout).map((line) => JSON.parse(line));
  expect(listed.map(({ path, absolute }) => [path, absolute])).toEqual([
    ["index.md", join(home, "memory/index.md")],
    ["preferences/tea.md", join(home, "memory/preferences/tea.md")],
  ]);
  expect((await person("sencha")).stdout).toContain("Likes sencha.");
  await person("--undo", "preferences/tea.md");
  expect((await person("--path", "preferences/tea.md")).stdout).toContain("Likes oolong.");
  expect(existsSync(join(home, ".index"))).toBe(false);
  // An agent sees it where its human chose so.
  expect((await memory("oolong")).stdout).toBe("");
  writeFileSync(join(home, "config.json"), JSON.stringify({ memory: { shared: true } }));
  expect((await memory("oolong")).stdout).toContain("person/preferences/tea.md:1");
  expect((await agiraph(["memory"], { folder: folder.path, env: { AGIRAPH_HOME: home } })).code).toBe(2);
});
