import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type IdleProgram, PATIENCE, TaskWatch } from "./task-watch.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** A program at rest, with the time (in seconds) of everything that is done about it. */
function resting(
  how: Partial<IdleProgram> & { isSeen?: boolean; isWaiting?: () => boolean; isActive?: () => boolean } = {},
) {
  const { isSeen = true, isWaiting = () => false, isActive = () => true, ...rest } = how;
  const began = performance.now();
  const done: string[] = [];
  const note = (what: string) => void done.push(`${Math.round((performance.now() - began) / 1000)} s: ${what}`);
  const watch = new TaskWatch({
    ...{ isSeen, isWaiting, isActive },
    idle: async () => ({
      stop: isSeen ? "Stop" : null,
      quietMs: performance.now() - began,
      isAttended: false,
      ...rest,
    }),
    remind: async (_, mark) => note(mark),
    giveUp: async (why) => note(`given up: ${why}`),
    waitsForPerson: (why) => note(`waits: ${why.trim()}`),
    dialogText: async () => "Do you want to?",
  });
  return { watch, done };
}

const HOUR = 3_600_000;

test("TASK-WATCH-1: who rests before its task has ended is reminded later and later, then its task fails", async () => {
  const { watch, done } = resting();
  watch.told("t.md");
  watch.entered("idle");
  await vi.advanceTimersByTimeAsync(2 * HOUR);
  expect(done).toEqual([
    "2 s: Reminder 1 of 3",
    "62 s: Reminder 2 of 3",
    "362 s: Reminder 3 of 3",
    "962 s: given up: It stopped without ending its task, and was reminded 3 times.",
  ]);
});

test("TASK-WATCH-1: who only says nothing may be at work: it is reminded late, and a person is told", async () => {
  const { watch, done } = resting({ isSeen: false });
  watch.told("t.md");
  watch.entered("idle");
  await vi.advanceTimersByTimeAsync(24 * HOUR);
  expect(done).toEqual([
    "300 s: Reminder 1 of 3",
    "1200 s: Reminder 2 of 3",
    "3000 s: Reminder 3 of 3",
    "4800 s: waits: it has been quiet for a long time, was reminded 3 times, and has not ended t.md.",
  ]);
});

test("TASK-WATCH-1: while its model fails it is tried again over a night, then a person is told", async () => {
  const { watch, done } = resting({ stop: "StopFailure" });
  watch.told("t.md");
  watch.entered("idle");
  await vi.advanceTimersByTimeAsync(48 * HOUR);
  expect([done.length, done[0], done.at(-1)]).toEqual([
    PATIENCE.failure.length,
    "30 s: Attempt 1 of 11",
    `${Math.round(PATIENCE.failure.reduce((sum, ms) => sum + ms) / 1000)} s: waits: its requests to its model fail, and t.md has not ended.`,
  ]);
});

test("TASK-WATCH-2: who waits for an answer, has no task, or has a person before it is left alone", async () => {
  const all = [
    resting({ isWaiting: () => true }),
    resting({ isActive: () => false }),
    resting({ isAttended: true }),
    resting(),
  ];
  for (const { watch } of all.slice(0, 3)) watch.told("t.md");
  for (const { watch } of all) watch.entered("idle");
  await vi.advanceTimersByTimeAsync(24 * HOUR);
  expect(all.map(({ done }) => done)).toEqual([[], [], [], []]);
  for (const { watch } of all) watch.close();
});

test("who goes on, or hears something, begins anew", async () => {
  const { watch, done } = resting();
  watch.told("t.md");
  watch.entered("idle");
  await vi.advanceTimersByTimeAsync(3_000);
  watch.entered("busy");
  await vi.advanceTimersByTimeAsync(HOUR);
  watch.told(undefined);
  watch.entered("idle");
  await vi.advanceTimersByTimeAsync(3_000);
  expect(done).toEqual(["2 s: Reminder 1 of 3", "3605 s: Reminder 1 of 3"]);
  watch.close();
});

test("TASK-WATCH-3: a dialog that stays open is told to a person; one that is answered soon is not", async () => {
  const { watch, done } = resting();
  watch.entered("dialog");
  await vi.advanceTimersByTimeAsync(10_000);
  watch.entered("busy");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(done).toEqual([]);
  watch.entered("dialog");
  await vi.advanceTimersByTimeAsync(HOUR);
  expect(done).toEqual(["85 s: waits: it asks something:\n\nDo you want to?"]);
});
