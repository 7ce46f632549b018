import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { PaneView } from "./pane-view.ts";
import { TERMINAL_KINDS } from "./terminal-kind.ts";
import { Typist, type TypistPorts } from "./typist.ts";
import { UnsentInput } from "./unsent-input.ts";

/** The cursor stands behind the last line of the screen. */
function look(now: number, keys: number, lines: string[], more: Partial<PaneView> = {}): PaneView {
  const cursor = `${lines.at(-1)?.length ?? 0},${lines.length - 1},0`;
  return {
    screen: lines,
    title: "",
    isDead: false,
    status: "",
    cursor,
    width: 10,
    isWatched: true,
    keys,
    now,
    ...more,
  };
}

function seen(...looks: PaneView[]): boolean {
  const half = new UnsentInput();
  for (const each of looks) half.see(each);
  return half.isBegun;
}

const prompt = look(10, 5, [">"]);

test("UNSENT-1: what changes with keys is a person's, what changes without is the program's", () => {
  expect(seen(prompt, look(12, 11, [">h"]))).toBe(true);
  expect(seen(prompt, look(12, 10, [">h"]))).toBe(true);
  expect(seen(prompt, look(12, 5, [">..."]))).toBe(false);
  expect(seen(prompt, look(12, 5, [">..."]), look(14, 13, [">..."]))).toBe(false);
  expect(seen(prompt, look(12, 11, [">h"], { isWatched: false }))).toBe(false);
});

test("UNSENT-2: it is over when it was sent or deleted, not when the program speaks, the line wraps or the person goes", () => {
  const begun = [prompt, look(12, 11, [">half"])];
  expect(seen(...begun, look(14, 13, [">half", ">"]))).toBe(false);
  expect(seen(...begun, look(14, 13, [">"]))).toBe(false);
  expect(seen(...begun, look(14, 11, [">half", "a log line", ""]))).toBe(true);
  expect(seen(...begun, look(14, 11, [">half", "log", ""]), look(16, 15, [">half", "log", "x", ">"]))).toBe(false);
  expect(seen(...begun, look(14, 13, [">half a li", "ne"]))).toBe(true);
  expect(seen(...begun, look(14, 13, ["", ">half"]))).toBe(true);
  expect(seen(...begun, look(14, 11, [">half"], { isWatched: false }))).toBe(true);
});

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

test("TYPIST-2: after some minutes a person is told, once, that a line keeps something waiting; then it waits on", async () => {
  const half = new UnsentInput();
  for (const each of [prompt, look(12, 11, [">half"])]) half.see(each);
  const kept: string[] = [];
  const stop = new AbortController();
  let minutes = 0;
  const typist = new Typist({
    ...{ name: "mesh-a", kind: TERMINAL_KINDS.plain, unsentInput: half },
    look: async () => look(20, 11, [">half"]),
    stateOf: () => "idle",
    isAlive: () => true,
    async change() {
      vi.advanceTimersByTime(60_000);
      if (++minutes === 60) stop.abort(new Error("an hour is over"));
    },
    blocked: (why) => void kept.push(`${minutes} min: ${why}`),
  } as Partial<TypistPorts> as TypistPorts);
  await expect(typist.say("words", "words", stop.signal)).rejects.toThrow("an hour is over");
  expect(kept).toEqual(["6 min: somebody has begun to type in its terminal and not sent the line for 5 minutes"]);
});
