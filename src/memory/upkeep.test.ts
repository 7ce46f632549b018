import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentMemoryFiles } from "../store/run/memory-files.ts";
import { temporaryHome } from "../testing/index.ts";
import { Memory } from "./memory.ts";
import { undistilled, upkeepByTheWay, upkeepOf } from "./upkeep.ts";

const DAY = 86_400_000;

test("daily logs that are no longer shown are to be gone through, oldest first, until they say that they were", async () => {
  await using home = await temporaryHome();
  await mkdir(join(home.path, "memory"));
  let now = Date.UTC(2026, 10, 10, 12);
  const memory = new Memory(agentMemoryFiles(home.path), { now: () => now, timeZone: "UTC" });
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
  const memory = new Memory(agentMemoryFiles(home.path), { now: () => now, timeZone: "UTC" });
  const lived = async (weeks: number) => {
    for (let week = 0; week < weeks; week++, now += 7 * DAY)
      await memory.write(memory.today, `Week ${week}.`, "append");
  };
  await lived(4);
  expect(await undistilled(memory, now)).toEqual(["2026-11-01.md", "2026-11-08.md"]);
  expect(await upkeepByTheWay(memory, now)).toBe("");
  await lived(1);
  const asked = await upkeepByTheWay(memory, now);
  expect(asked).toMatch(/^## Before you finish\n\nUpkeep of your memory\. Below are daily logs /);
  // The logs are in the question, and one line for all of them is the answer.
  expect(["Week 0.", "Week 1.", "Week 2."].filter((each) => !asked.includes(each))).toEqual([]);
  const [answer = ""] = /Distilled: [\d, -]+/.exec(asked) ?? [];
  await memory.write(memory.today, answer, "append");
  // The note made a new log, and with it the last but two is no longer shown.
  expect(await undistilled(memory, now)).toEqual(["2026-11-22.md"]);
  expect(await upkeepByTheWay(memory, now)).toBe("");
});

test("a log that says which others were gone through is not gone through itself thereby", async () => {
  await using home = await temporaryHome();
  await mkdir(join(home.path, "memory"));
  let now = Date.UTC(2026, 10, 1, 12);
  const memory = new Memory(agentMemoryFiles(home.path), { now: () => now, timeZone: "UTC" });
  for (let day = 0; day < 6; day++, now += DAY) await memory.write(memory.today, `Day ${day}.`, "append");
  await memory.write("2026-11-03.md", "Distilled: 2026-11-01, 2026-11-02", "append");
  expect(await undistilled(memory, now)).toEqual(["2026-11-03.md", "2026-11-04.md"]);
});

test("logs that have no room in the question are asked for the next time, and a long one is begun", async () => {
  await using home = await temporaryHome();
  await mkdir(join(home.path, "memory"));
  let now = Date.UTC(2026, 10, 1, 12);
  const memory = new Memory(agentMemoryFiles(home.path), { now: () => now, timeZone: "UTC" });
  for (let day = 0; day < 8; day++, now += DAY)
    await memory.write(memory.today, `Day ${day}. ${"It rained. ".repeat(500)}`, "append");
  const asked = (await upkeepOf(memory, now)) ?? "";
  expect(/Distilled: [\d, -]+/.exec(asked)?.[0]).toBe("Distilled: 2026-11-01, 2026-11-02");
  expect(asked.length).toBeLessThan(18_000);
});

test("nobody is asked again about a log that says nothing but that others were gone through", async () => {
  await using home = await temporaryHome();
  await mkdir(join(home.path, "memory"));
  const nightsAsked = async (answerIn: (asked: string, memory: Memory) => string) => {
    let now = Date.UTC(2026, 0, 1, 4);
    const memory = new Memory(agentMemoryFiles(home.path), { now: () => now, timeZone: "UTC" });
    for (let day = 0; day < 3; day++, now += DAY) await memory.write(memory.today, "It rained.", "append");
    let nights = 0;
    for (let night = 0; night < 60; night++, now += DAY) {
      const asked = await upkeepOf(memory, now);
      const [answer] = /Distilled: [\d, -]+/.exec(asked ?? "") ?? [];
      if (!asked || !answer) continue;
      nights += 1;
      await memory.write(answerIn(asked, memory), answer, "append");
    }
    await rm(join(home.path, "memory"), { recursive: true });
    await mkdir(join(home.path, "memory"));
    return nights;
  };
  // Where it was asked to be written: nothing new is made by it, and the last two logs stay shown.
  expect(await nightsAsked((asked) => /append this line to (\S+\.md)/.exec(asked)?.[1] ?? "")).toBe(1);
  // In today's log: with each, one log more is no longer shown, and no more than that.
  expect(await nightsAsked((_, memory) => memory.today)).toBe(3);
});
