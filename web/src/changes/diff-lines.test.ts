import { expect, test } from "vitest";
import type { FileHunk } from "../live/repository-api.ts";
import { addressOf, linesOf, pairsOf } from "./diff-lines.ts";

function hunkOf(old_start: number, new_start: number, lines: string[]): FileHunk {
  const count = (signs: string) => lines.filter((line) => signs.includes(line[0] ?? "")).length;
  return { old_start, old_lines: count(" -"), new_start, new_lines: count(" +"), header: "", lines };
}

test("each line has its number on the sides where it is, and is addressed where it can be found", () => {
  const lines = linesOf(hunkOf(10, 12, [" a", "-b", "+c", "+d", " e"]));
  expect(lines.map(({ sign, old, new: now, text }) => [sign, old, now, text])).toEqual([
    [" ", 10, 12, "a"],
    ["-", 11, null, "b"],
    ["+", null, 13, "c"],
    ["+", null, 14, "d"],
    [" ", 12, 15, "e"],
  ]);
  expect(lines.map(addressOf)).toEqual([
    { side: "new", line: 12 },
    { side: "old", line: 11 },
    { side: "new", line: 13 },
    { side: "new", line: 14 },
    { side: "new", line: 15 },
  ]);
});

test("of a new file and of a deleted one the first line is line 1", () => {
  const added = linesOf({ old_start: 0, old_lines: 0, new_start: 1, new_lines: 1, header: "", lines: ["+a"] });
  const deleted = linesOf({ old_start: 1, old_lines: 1, new_start: 0, new_lines: 0, header: "", lines: ["-a"] });
  expect([added[0]?.new, deleted[0]?.old]).toEqual([1, 1]);
});

test("side by side what was taken out faces what came in its place, and what has no counterpart faces nothing", () => {
  const pairs = pairsOf(linesOf(hunkOf(1, 1, [" a", "-b", "-c", "+d", " e", "+f", "-g"])));
  expect(pairs.map(({ left, right }) => [left?.text ?? null, right?.text ?? null])).toEqual([
    ["a", "a"],
    ["b", "d"],
    ["c", null],
    ["e", "e"],
    ["g", "f"],
  ]);
});

test("that a file does not end with a line end stays below the line it is about", () => {
  const lines = ["-a", "\\ No newline at end of file", "+b", "\\ No newline at end of file"];
  const pairs = pairsOf(linesOf(hunkOf(1, 1, lines)));
  expect(pairs.map(({ left, right }) => [left?.sign, right?.sign])).toEqual([
    ["-", "+"],
    ["\\", "\\"],
  ]);
});
