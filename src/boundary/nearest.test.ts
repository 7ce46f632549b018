import { expect, test } from "vitest";
import { closest, didYouMean, nearest } from "./nearest.ts";

test("a slip of the pen finds the name that was meant, and nothing else does", () => {
  const names = ["read_file", "write_file", "web_search"];
  expect([nearest("readFile", names), nearest("web-serach", names), nearest("fly", names)]).toEqual([
    ["read_file"],
    ["web_search"],
    [],
  ]);
  expect(closest("fly", names, 1)).toHaveLength(1);
  expect([nearest("Zoe", ["Bob", "Eve"]), nearest("Bbo", ["Bob", "Eve"])]).toEqual([[], ["Bob"]]);
});

test("a longer or shorter form of a name is recognised", () => {
  const tools = ["read_file", "web_search"];
  expect(
    [
      ["pathname", ["offset", "path"]],
      ["file_path", ["offset", "path"]],
      ["functions.read_file", tools],
      ["search", tools],
      ["x", tools],
      ["", tools],
    ].map(([typed, names]) => didYouMean(String(typed), names as string[])),
  ).toEqual([
    ' Did you mean "path"?',
    ' Did you mean "path"?',
    ' Did you mean "read_file"?',
    ' Did you mean "web_search"?',
    "",
    "",
  ]);
});

test("another number is not a guess: it would name the wrong one", () => {
  const nodes = ["node-1", "node-12"];
  expect([didYouMean("node-3", nodes), didYouMean("nod-12", nodes), didYouMean("node-1x", nodes)]).toEqual([
    "",
    ' Did you mean "node-12"?',
    ' Did you mean "node-1"?',
  ]);
});
