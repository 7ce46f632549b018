import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemClock } from "./system-clock.ts";

beforeEach(() => void vi.useFakeTimers({ now: 1_000 }));
afterEach(() => void vi.useRealTimers());

test("a sleep ends when its time has passed, not before", async () => {
  const { ended } = sleeping(250, new AbortController().signal);

  await vi.advanceTimersByTimeAsync(249);
  expect([systemClock.now(), ended()]).toEqual([1_249, false]);
  await vi.advanceTimersByTimeAsync(1);
  expect([systemClock.now(), ended()]).toEqual([1_250, true]);
});

test("a sleep longer than any timer does not fire at once", async () => {
  const sixtyDays = 60 * 24 * 3_600_000;
  const { ended } = sleeping(sixtyDays, new AbortController().signal);

  await vi.advanceTimersByTimeAsync(sixtyDays - 1);
  expect(ended()).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(ended()).toBe(true);
});

test("an abort ends the sleep with the signal's reason and leaves nothing behind", async () => {
  const stop = new AbortController();
  const sleep = systemClock.sleep(1_000, stop.signal);
  stop.abort("the human said stop");

  await expect(sleep).rejects.toBe("the human said stop");
  await expect(systemClock.sleep(1_000, stop.signal)).rejects.toBe("the human said stop");
  expect([vi.getTimerCount(), getEventListeners(stop.signal, "abort").length]).toEqual([0, 0]);
});

test("a finished sleep leaves no listener on the signal", async () => {
  const { signal } = new AbortController();
  const sleep = systemClock.sleep(10, signal);
  await vi.advanceTimersByTimeAsync(10);
  await sleep;
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

function sleeping(ms: number, signal: AbortSignal): { ended: () => boolean } {
  let done = false;
  void systemClock.sleep(ms, signal).then(() => {
    done = true;
  });
  return { ended: () => done };
}
