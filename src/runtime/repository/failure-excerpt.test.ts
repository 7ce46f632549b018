import { expect, test } from "vitest";
import { failureExcerpt } from "./failure-excerpt.ts";

const passing = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => `ok ${from + at} - passes\n  ---\n  duration_ms: 1\n  ...`).join("\n");

test("the end is shown, and what failed in the middle with the lines that follow it", () => {
  const output = `${passing(1, 300)}\nnot ok 300 - adds\n  ---\n  error: 'expected 2, got 3'\n  ...\n${passing(301, 600)}\n# fail 1\n`;
  const shown = failureExcerpt(output);
  expect(shown).toMatch(/^…\nnot ok 300 - adds\n {2}---\n {2}error: 'expected 2, got 3'\n/);
  expect(shown.endsWith("# fail 1\n")).toBe(true);
  expect(shown.length).toBeLessThan(9000);
});

test("a short one is shown whole; one that only fails is bounded", () => {
  expect(failureExcerpt("not ok 1\n")).toBe("not ok 1\n");
  expect(failureExcerpt(`FAIL ${"x".repeat(1000)}\n`.repeat(1000)).length).toBeLessThan(9000);
});
