import { expect, test } from "vitest";
import { ownNames, parsePath } from "./written-path.ts";

test("a path is cut into names", () => {
  expect(["", ".", "a", "./a//b/./c/", "caf\u00e9 au lait.md", "..."].map(parsePath)).toEqual([
    ...[[], [], ["a"], ["a", "b", "c"], ["caf\u00e9 au lait.md"], ["..."]],
  ]);
});

test("what could mean something else is refused, with the reason", () => {
  const reasonOf = (path: string) => {
    try {
      return ownNames(parsePath(path));
    } catch (error) {
      return error instanceof Error ? error.message.replace(/^.*use: /, "") : error;
    }
  };
  expect(
    [
      "a/../b",
      "/etc/passwd",
      "~/x",
      "a\\b",
      "a\0b",
      "a\nb",
      "a\ud800",
      "a\u200bb",
      "x".repeat(256),
      "a/".repeat(600),
    ].map(reasonOf),
  ).toEqual([
    '".." is never followed. Name the file from the top instead.',
    "it is absolute and leads to none of your files. Paths are relative to the run; list_files without a path shows what is there.",
    "it is absolute and leads to none of your files. Paths are relative to the run; list_files without a path shows what is there.",
    "it has a backslash in it. Separate folders with /.",
    "it has a control character in it. Use plain names.",
    "it has a control character in it. Use plain names.",
    "it has half a character (a lone surrogate) in it.",
    "it has invisible characters (?). Use plain names.",
    "the name xxxxxxxxxxxxxxxxxxxx… is longer than 255 bytes.",
    "it has 1200 characters, at most 1024 are allowed.",
  ]);
});

test("in our folders every name is composed", () => {
  expect(ownNames(parsePath("cafe\u0301/x"))).toEqual(["caf\u00e9", "x"]);
});
