import { expect, test } from "vitest";
import type { FileDiff } from "../live/repository-api.ts";
import { changesLine, nearestAlike } from "./author.ts";

test("a line is of the node that put it there or took it out, not of one that left it", () => {
  const hunk = { old_start: 1, old_lines: 2, new_start: 1, new_lines: 2, header: "", lines: [" a", "-b", "+c"] };
  const file: FileDiff = { path: "x", status: "modified", binary: false, insertions: 1, deletions: 1, hunks: [hunk] };
  const at = (side: "old" | "new") => ({ path: "x", side, line: 1 });
  expect([
    changesLine(file, at("new"), "c"),
    changesLine(file, at("old"), "b"),
    changesLine(file, at("new"), "b"),
    changesLine(file, at("new"), "a"),
  ]).toEqual([true, true, false, false]);
});

test("the line of a later commit is found in an earlier one by how it reads, the nearest first", () => {
  const lines = ["a", "b", "a", "c", "a"];
  expect([
    nearestAlike(lines, 10, 13, "a"),
    nearestAlike(lines, 10, 20, "a"),
    nearestAlike(lines, 10, 13, "z"),
  ]).toEqual([12, 14, 13]);
});
