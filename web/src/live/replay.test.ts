import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const asked = vi.fn(async () => Response.json({}, { status: 500 }));

beforeEach(() => {
  vi.useFakeTimers();
  const place = { addEventListener() {}, removeEventListener() {} };
  vi.stubGlobal("window", place);
  vi.stubGlobal("document", { ...place, hidden: false });
  vi.stubGlobal("location", { href: "http://127.0.0.1:4747/ui/" });
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run, 16));
  vi.stubGlobal("fetch", asked);
  const SilentSocket = class {
    close(): void {}
  };
  vi.stubGlobal("WebSocket", SilentSocket);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test("a moment that could not be read is asked for again while somebody looks, and no longer", async () => {
  const { replayAt } = await import("./replay.ts");
  const leave = replayAt("agent-test", 3).subscribe(() => {});
  await vi.advanceTimersByTimeAsync(10_000);
  expect([replayAt("agent-test", 3).state, asked.mock.calls.length]).toEqual(["lost", 4]);
  leave();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked.mock.calls.length).toBe(4);
  replayAt("agent-test", 3);
  await vi.advanceTimersByTimeAsync(0);
  expect(asked.mock.calls.length).toBe(5);
});

test("of a log that was begun anew, what it was before is not kept", async () => {
  vi.useRealTimers();
  const { agents } = await import("./agents.ts");
  const { wholeLog } = await import("./replay.ts");
  const before = new WeakRef(wholeLog("agent-restored"));
  agents.feed("agent-restored").life += 1;
  expect(wholeLog("agent-restored").life).toBe(1);
  expect(wholeLog("agent-restored")).toBe(wholeLog("agent-restored"));
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  await expect
    .poll(() => {
      collect();
      return before.deref() === undefined;
    })
    .toBe(true);
});
