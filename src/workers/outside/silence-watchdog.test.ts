import { expect, test } from "vitest";
import { manualClock } from "../../testing/index.ts";
import { SilenceWatchdog } from "./silence-watchdog.ts";

const SECONDS = 900;

test("silence counts from the beginning once it is no longer allowed (SILENCE-1)", async () => {
  const { clock, rang, stop, state } = watched();
  state.mayBeSilent = true;
  await clock.advance(1_799_000);
  state.mayBeSilent = false;
  await clock.advance(800_000);
  expect(rang).toEqual([]);
  await clock.advance(100_000);
  expect(rang.length).toBe(1);
  stop();
});

test("what it waits for is not its silence, however long that takes (SILENCE-1)", async () => {
  const { clock, rang, stop, watchdog } = watched();
  const over = watchdog.callBegins();
  await clock.advance(5_000_000);
  over();
  await clock.advance(899_000);
  expect(rang).toEqual([]);
  await clock.advance(1_000);
  expect(rang.length).toBe(1);
  stop();
});

function watched() {
  const clock = manualClock();
  const watchdog = new SilenceWatchdog(clock);
  const rang: number[] = [];
  const state = { mayBeSilent: false };
  const over = new AbortController();
  watchdog.starts();
  watchdog
    .watch(
      SECONDS,
      () => state.mayBeSilent,
      () => void rang.push(clock.now()),
      over.signal,
    )
    .catch(() => {});
  return { clock, watchdog, rang, state, stop: () => over.abort() };
}
