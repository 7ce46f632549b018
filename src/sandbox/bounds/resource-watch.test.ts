import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Cgroup } from "./cgroups.ts";
import { defaultLimits } from "./limits.ts";
import { calmPace, watchResources } from "./resource-watch.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** How often it looks at a program in a minute that costs nothing to look at. */
async function looksInAMinute(...pace: Parameters<typeof watchResources>[2][]): Promise<number> {
  let looks = 0;
  const cgroup: Cgroup = { enter: [], ranOutOfMemory: () => ++looks < 0, release: () => {} };
  const watched = { pid: process.pid, binds: { write: [], read: [], hide: [] }, limits: defaultLimits, cgroup };
  const watch = watchResources(watched, () => {}, ...pace);
  await vi.advanceTimersByTimeAsync(60_000);
  watch.stop();
  return looks;
}

test("a program, which may be idle over night, is looked at once a second; a command, which is short, more often", async () => {
  expect([await looksInAMinute(calmPace), await looksInAMinute()]).toEqual([60, 400]);
});
