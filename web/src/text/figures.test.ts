import { expect, test } from "vitest";
import { clockTime, initialOf, secondTime } from "./figures.ts";

const at = (day: number, hour: number) => new Date(2026, 10, day, hour, 5, 7).getTime();

test("a time of another day has that day with it, also that of the night before", () => {
  const now = at(16, 1);
  expect([at(16, 0), at(15, 23), at(17, 0)].map((ms) => clockTime(ms / 1000, now))).toEqual([
    expect.stringMatching(/^00:05$/),
    expect.stringMatching(/15.*23:05/),
    expect.stringMatching(/17.*00:05/),
  ]);
  expect([at(16, 0), at(15, 23)].map((ms) => secondTime(ms / 1000, now))).toEqual([
    expect.stringMatching(/^00:05:07$/),
    expect.stringMatching(/15.*23:05:07/),
  ]);
});

test("a name begins with a whole character", () => {
  expect(["alice", "🦊 Fox", "𝒜da", ""].map(initialOf)).toEqual(["A", "🦊", "𝒜", ""]);
});
