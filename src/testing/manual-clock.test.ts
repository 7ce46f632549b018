import { expect, test } from "vitest";
import { manualClock } from "./manual-clock.ts";

const { signal } = new AbortController();

test("sleepers wake in the order of their due times, each at its own time", async () => {
  const clock = manualClock(1_000);
  const woken: [string, number][] = [];
  const sleep = (name: string, ms: number) => clock.sleep(ms, signal).then(() => woken.push([name, clock.now()]));
  void sleep("late", 300);
  void sleep("soon", 100);
  void sleep("later still", 301);

  await clock.advance(300);

  expect({ woken, now: clock.now(), due: clock.due }).toEqual({
    woken: [
      ["soon", 1_100],
      ["late", 1_300],
    ],
    now: 1_300,
    due: [1_301],
  });
});

test("a sleeper that sleeps again wakes again within the same advance", async () => {
  const clock = manualClock(0);
  const ticks: number[] = [];
  const ticking = (async () => {
    while (ticks.length < 3) {
      await clock.sleep(10, signal);
      ticks.push(clock.now());
    }
  })();
  await clock.advance(35);
  await ticking;
  expect({ ticks, now: clock.now() }).toEqual({ ticks: [10, 20, 30], now: 35 });
});

test("an aborted sleeper is told why and is forgotten", async () => {
  const clock = manualClock(0);
  const stop = new AbortController();
  const sleep = clock.sleep(10, stop.signal);
  stop.abort("enough");
  await expect(sleep).rejects.toBe("enough");
  await expect(clock.sleep(10, stop.signal)).rejects.toBe("enough");
  expect(clock.due).toEqual([]);
});

test("a test can wait until someone sleeps", async () => {
  const clock = manualClock(0);
  const both = clock.sleeping(2).then(() => clock.due);
  void clock.sleep(5, signal);
  void clock.sleep(3, signal);
  expect(await both).toEqual([3, 5]);
});
