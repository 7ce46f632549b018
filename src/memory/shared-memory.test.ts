import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { agentMemoryFiles, personMemoryFiles } from "../store/run/memory-files.ts";
import { coordinatorScope } from "../store/scope/team-scopes.ts";
import { temporaryHome } from "../testing/index.ts";
import { Memory } from "./memory.ts";
import { recall } from "./recall.ts";
import { searchMemory } from "./search.ts";

let home: string;
const now = Date.UTC(2026, 1, 11, 14, 5);

beforeEach(async () => {
  const made = await temporaryHome();
  home = made.path;
  return () => made.remove();
});

function agent(name: string, isShared = true): Memory {
  const dir = join(home, "agents", name);
  mkdirSync(join(dir, "memory"), { recursive: true });
  return new Memory(
    agentMemoryFiles(dir),
    { now: () => now, timeZone: "UTC" },
    isShared ? personMemoryFiles(home) : undefined,
  );
}
const shared = (path: string) => readFileSync(join(home, "memory", path), "utf8");

test("what one agent notes about the human, another begins with and finds beside its own", async () => {
  const [ada, bob] = [agent("agent-a"), agent("agent-b")];
  expect(await ada.write("person/preferences/tea.md", "Likes oolong tea.", "append", "Ada run-1")).toEqual({
    path: "person/preferences/tea.md",
    bytes: 42,
  });
  await bob.write("preferences/mail.md", "Short mails.", "append", "run-1");
  await bob.write("knowledge/tea.md", "Oolong is half fermented.", "append", "run-1");
  const words = await recall(bob, 1000);
  expect(words.indexOf("Likes oolong tea. (2026-02-11, Ada run-1)")).toBeGreaterThan(0);
  expect(words.indexOf("Likes oolong")).toBeLessThan(words.indexOf("Short mails."));
  const found = await searchMemory(bob.searchable, "oolong", { timeZone: "UTC", tokens: 1000 });
  expect(found.map(({ path }) => path).sort()).toEqual(["knowledge/tea.md", "person/preferences/tea.md"]);
});

test("who does not share it sees nothing of it, and a path of that name is its own", async () => {
  await agent("agent-a").write("person/preferences/tea.md", "Likes oolong.", "append");
  const bob = agent("agent-b", false);
  expect(await recall(bob, 1000)).toBe("");
  expect((await bob.write("person/tea.md", "Mine.", "append")).path).toBe("memory/person/tea.md");
  expect(await searchMemory(bob.searchable, "oolong", { timeZone: "UTC", tokens: 1000 })).toEqual([]);
});

test("agents that write side by side lose nothing, and neither does a person's save in between", async () => {
  const agents = [agent("agent-a"), agent("agent-b")];
  const notes = Array.from({ length: 20 }, (_, at) => `Note ${at}.`);
  await Promise.all(notes.map((note, at) => agents[at % 2]?.write("person/knowledge/notes.md", note, "append")));
  expect(shared("knowledge/notes.md").trim().split("\n\n").toSorted()).toEqual(notes.toSorted());
  await agents[0]?.read("person/knowledge/notes.md");
  writeFileSync(join(home, "memory/knowledge/notes.md"), "By hand.\n");
  await expect(agents[0]?.write("person/knowledge/notes.md", "Other.", "replace")).rejects.toThrow(
    "somebody changed it",
  );
});

test("versions and undo work there as elsewhere", async () => {
  const ada = agent("agent-a");
  await ada.write("person/preferences/tea.md", "Likes oolong.", "append", "Ada run-1");
  await ada.supersede("person/preferences/tea.md", "Likes oolong.", "Likes sencha.", "Ada run-2");
  expect(shared("preferences/tea.md")).toBe("Likes sencha. (2026-02-11, Ada run-2)\n");
  expect(await ada.versions("person/preferences/tea.md")).toHaveLength(1);
  await agent("agent-b").undo("person/preferences/tea.md");
  expect(shared("preferences/tea.md")).toBe("Likes oolong. (2026-02-11, Ada run-1)\n");
});

test("the files and commands of an agent do not reach it", async () => {
  await agent("agent-a").write("person/preferences/tea.md", "Likes oolong.", "append");
  const dir = join(home, "agents", "agent-a");
  mkdirSync(join(dir, "runs", "run-1"), { recursive: true });
  const scope = coordinatorScope({ agentDir: dir, runId: "run-1", project: null });
  const { write, read } = await scope.binds();
  expect([...write, ...read].filter((path) => join(home, "memory").startsWith(path))).toEqual([]);
  await expect(scope.readFile("../../../../memory/preferences/tea.md", { maxBytes: 100 })).rejects.toThrow();
});
