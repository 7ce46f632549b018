import { expect, test } from "vitest";
import { lastOf } from "./live-rows.tsx";

test("of a long speech the end is shown, and it begins where it began while a few more words come", () => {
  const speech = Array.from({ length: 2000 }, (_, n) => `Line ${n}.`).join("\n");
  expect(lastOf(speech.slice(0, 16_000))).toBe(speech.slice(0, 16_000));
  const shown = [speech.slice(0, 18_000), speech.slice(0, 18_100), speech.slice(0, 19_000)].map(lastOf);
  expect(shown.map((text) => text.split("\n", 3))).toEqual([
    ["… 8000 characters before this", "", expect.stringMatching(/^Line \d+\.$/)],
    ["… 8000 characters before this", "", expect.stringMatching(/^Line \d+\.$/)],
    ["… 8000 characters before this", "", expect.stringMatching(/^Line \d+\.$/)],
  ]);
  expect(new Set(shown.map((text) => text.split("\n")[2])).size).toBe(1);
  expect(shown.every((text) => text.length <= 16_100)).toBe(true);
  expect(lastOf("x".repeat(20_000)).endsWith("x".repeat(12_000))).toBe(true);
});
