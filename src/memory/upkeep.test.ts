import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentMemoryFiles } from "../store/memory-files.ts";
import { temporaryHome } from "../testing/index.ts";
import { Memory } from "./memory.ts";
import { undistilled, upkeepByTheWay } from "./upkeep.ts";

const DAY = 86_400_000;

test("daily logs that are no longer shown are to be gone through, oldest first, until they say that they were", async () => {
  await using home = await temporaryHome();
  await mkdir(join(home.path, "memory"));
  let now = Date.UTC(2026, 10, 10, 12);
  const memory = new Memory(agentMemoryFiles(home.path), () => now);
  expect(await undistilled(memory, now)).toEqual([]);
  for (let day = 0; day < 4; day++, now += DAY) await memory.write(memory.today, `Day ${day}.`, "append");
  now -= DAY; // the day of the last entry, the 13th: it and the one before are shown anyway
  expect(await undistilled(memory, now)).toEqual(["2026-11-10.md", "2026-11-11.md"]);
  await memory.write("2026-11-10.md", "Distilled.", "append");
  expect(await undistilled(memory, now)).toEqual(["2026-11-11.md"]);
  await memory.write("2026-11-11.md", "distilled: into knowledge/days.md", "append");
  expect(await undistilled(memory, now)).toEqual([]);
});

test("what is still shown is left alone however old it is, and by the way only what is worth it is asked for", async () => {
  await using home = await temporaryHome();
  await mkdir(join(home.path, "memory"));
  let now = Date.UTC(2026, 10, 1, 12);
  const memory = new Memory(agentMemoryFiles(home.path), () => now);
  const lived = async (weeks: number) => {
    for (let week = 0; week < weeks; week++, now += 7 * DAY)
      await memory.write(memory.today, `Week ${week}.`, "append");
  };
  await lived(4);
  expect(await undistilled(memory, now)).toEqual(["2026-11-01.md", "2026-11-08.md"]);
  expect(await upkeepByTheWay(memory, now)).toBe("");
  await lived(1);
  expect(await upkeepByTheWay(memory, now)).toMatch(
    /^## Before you finish\n\nUpkeep of your memory\. Read these daily logs: 2026-11-01\.md, 2026-11-08\.md, 2026-11-15\.md /,
  );
});
