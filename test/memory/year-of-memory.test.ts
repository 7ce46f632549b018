import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ALWAYS_SHOWN, Memory, SHOWN_BYTES } from "../../src/memory/memory.ts";
import { recall } from "../../src/memory/recall.ts";
import { searchMemory } from "../../src/memory/search.ts";
import { upkeepOf } from "../../src/memory/upkeep.ts";
import type { NewFact } from "../../src/protocol/index.ts";
import { agentMemoryFiles } from "../../src/store/run/memory-files.ts";
import { temporaryHome } from "../../src/testing/index.ts";
import { agentMemoryTools } from "../../src/tools/memory.ts";
import { Toolbox } from "../../src/tools/toolbox.ts";

const DAY = 86_400_000;
const DAYS = 365;
const THINGS = "billing search mail login export invoices reports backups gateway scheduler".split(" ");
const NAMES = "Amara Bela Chen Dora Emil Farid Greta Hugo Iris Jonas".split(" ");
const ownerOn = (day: number) => NAMES[Math.floor(day / THINGS.length) % NAMES.length] ?? "";
const ownership = (thing: string, name: string) => `${name} is responsible for ${thing}.`;

test("a year of writes, changes and consolidations, by the agent's own tools", { timeout: 300_000 }, async () => {
  await using home = await temporaryHome();
  mkdirSync(join(home.path, "memory"));
  writeFileSync(join(home.path, "MEMORY.md"), "");
  let now = Date.UTC(2026, 0, 1, 12);
  let day = 0;
  const memory = new Memory(agentMemoryFiles(home.path), { now: () => now, timeZone: "UTC" });
  const told: NewFact[] = [];
  const tools = new Toolbox(
    agentMemoryTools({
      memory,
      record: async (...facts) => void told.push(...facts.filter(({ type }) => type === "human.nudge")),
      by: "coordinator",
      insights: () => ({}),
      author: { run: () => `run-${day + 1}`, agent: "Ada" },
      toHuman: (text) => ({ type: "human.nudge", data: { text, channel: "test" } }),
    }),
  );
  const use = async (name: string, args: object) => {
    const { ok, content } = await tools.run({ type: "call", id: "1", name, args }, new AbortController().signal);
    expect([ok, content]).toEqual([true, content]);
    return content;
  };
  const current = new Map<string, string>();
  let asked = 0;

  await use("memory_write", { path: "preferences/writing.md", content: "Short sentences, no emoji." });
  for (day = 0; day < DAYS; day++, now += DAY) {
    const thing = THINGS[day % THINGS.length] ?? "";
    const [before, name] = [current.get(thing), ownerOn(day)];
    const path = `knowledge/${thing}.md`;
    // Every other change is added without taking the old one out, as models do.
    const replaces = before && day % 20 < 10 ? { supersedes: ownership(thing, before) } : {};
    if (before !== name) await use("memory_write", { path, content: ownership(thing, name), ...replaces });
    current.set(thing, name);
    await use("memory_write", { content: `Looked at ${thing} and wrote to ${name}; nothing else happened.` });
    await use("memory_write", { path: "MEMORY.md", content: `- Day ${day}: ${thing} was quiet, as ${name} says.` });
    // Looked at by night; once a week is enough here.
    const task = day % 7 === 0 || day === DAYS - 1 ? await upkeepOf(memory, now) : null;
    if (!task) continue;
    asked += 1;
    // What a model does that follows the words: it keeps the newest lines, and answers for the logs with one line.
    if (task.includes(`replace it (mode replace) by at most ${SHOWN_BYTES} bytes`)) {
      const lines = String(await use("memory_read", { path: "MEMORY.md" }))
        .trim()
        .split("\n\n");
      await use("memory_write", { path: "MEMORY.md", content: lines.slice(-60).join("\n\n"), mode: "replace" });
    }
    const [distilled] = /Distilled: [\d, -]+/.exec(task) ?? [];
    if (distilled) await use("memory_write", { content: distilled });
  }
  now -= DAY;

  const shown = await recall(memory, 8000);
  const newest = Array.from({ length: 20 }, (_, at) => `- Day ${DAYS - 20 + at}: `);
  expect(newest.filter((line) => !shown.includes(line))).toEqual([]);
  expect(shown).toContain("Short sentences, no emoji.");
  expect(Buffer.byteLength(readFileSync(join(home.path, ALWAYS_SHOWN)))).toBeLessThanOrEqual(SHOWN_BYTES);
  // The human is told each time it outgrows what is shown, and not at each write.
  expect(told.length).toBeGreaterThanOrEqual(1);
  expect(told.length).toBe((await memory.versions(ALWAYS_SHOWN)).length);

  const answers = async () => {
    const first: Record<string, string> = {};
    for (const thing of THINGS) {
      const question = `Who is responsible for ${thing}?`;
      const found = await searchMemory(memory.files, question, { timeZone: "UTC", tokens: 4000 });
      const said = found.map(({ text }) => text).find((text) => text.includes("responsible for")) ?? "";
      first[thing] = [...said.matchAll(/(\w+) is responsible/g)].at(-1)?.[1] ?? "";
    }
    return first;
  };
  const known = await answers();
  expect(known).toEqual(Object.fromEntries(current));
  rmSync(join(home.path, ".index"), { recursive: true });
  expect(await answers()).toEqual(known);

  const before = readFileSync(join(home.path, ALWAYS_SHOWN), "utf8");
  await use("memory_write", { path: "MEMORY.md", content: "Nothing.", mode: "replace" });
  await memory.undo(ALWAYS_SHOWN);
  expect(readFileSync(join(home.path, ALWAYS_SHOWN), "utf8")).toBe(before);
  process.stdout.write(`${JSON.stringify({ asked, told: told.length, files: (await memory.list()).length })}\n`);
});
