import { expect, test } from "vitest";
import { EngineClock } from "./engine-clock.ts";

test("ENGINE-CLOCK-1, -2: it is the engine's, goes on by itself, and follows it only when it is surely elsewhere", () => {
  let elapsed = 1000;
  const clock = new EngineClock(() => elapsed);
  expect(() => clock.now()).toThrow("was not read yet");
  clock.note({ engineMs: 50_000, askedMs: 990, answeredMs: 1010 });
  expect(clock.now()).toBe(50_000);
  elapsed = 3000;
  expect(clock.now()).toBe(52_000);
  // Within what the way may have taken: the same.
  clock.note({ engineMs: 52_009, askedMs: 2990, answeredMs: 3010 });
  expect(clock.now()).toBe(52_000);
  clock.note({ engineMs: 900_000, askedMs: 2990, answeredMs: 3010 });
  expect(clock.now()).toBe(900_000);
});
