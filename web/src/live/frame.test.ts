import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { coalesce, hasBeenHidden } from "./frame.ts";

const page = { hidden: false };
let frames: (() => void)[] = [];
beforeEach(() => {
  vi.useFakeTimers();
  page.hidden = false;
  frames = [];
  vi.stubGlobal("document", page);
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => frames.push(run));
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test("what was to come with the next frame comes by a timer when the tab is hidden before it, and only once", () => {
  const run = vi.fn();
  const soon = coalesce(run);
  soon();
  page.hidden = true;
  hasBeenHidden();
  vi.advanceTimersByTime(1000);
  expect(run).toHaveBeenCalledTimes(1);
  for (const frame of frames) frame();
  expect(run).toHaveBeenCalledTimes(1);
  soon();
  vi.advanceTimersByTime(1000);
  expect(run).toHaveBeenCalledTimes(2);
});
