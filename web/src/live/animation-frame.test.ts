import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { coalesce, hasBeenHidden, hasBeenPressed } from "./animation-frame.ts";

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

test("what is pressed does not move before it is let go, for a second at most, and not where nobody sees it", () => {
  class Element {
    readonly isButton: boolean;
    constructor(isButton: boolean) {
      this.isButton = isButton;
    }
    closest = () => (this.isButton ? this : null);
  }
  vi.stubGlobal("Element", Element);
  const pointer = (type: string, isButton = true) =>
    hasBeenPressed({ type, target: new Element(isButton) } as unknown as Event);
  const nextFrame = () => {
    for (const frame of frames.splice(0)) frame();
  };
  const run = vi.fn();
  const soon = coalesce(run);
  const runsAfter = (act: () => void) => {
    run.mockClear();
    soon();
    act();
    nextFrame();
    return run.mock.calls.length;
  };
  expect(runsAfter(() => pointer("pointerdown"))).toBe(0);
  nextFrame();
  expect(run).not.toHaveBeenCalled();
  expect(runsAfter(() => pointer("pointerup"))).toBe(1);
  pointer("pointerdown");
  expect(runsAfter(() => pointer("pointercancel"))).toBe(1);
  pointer("pointerdown");
  expect(runsAfter(() => vi.advanceTimersByTime(999))).toBe(0);
  expect(runsAfter(() => vi.advanceTimersByTime(1))).toBe(1);
  expect(runsAfter(() => pointer("pointerdown", false))).toBe(1);
  page.hidden = true;
  pointer("pointerdown");
  expect(runsAfter(() => vi.advanceTimersByTime(250))).toBe(1);
  pointer("pointerup");
});
