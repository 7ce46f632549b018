import { expect, test } from "vitest";
import { TimeSlices } from "../disk/time-slices.ts";
import { Effort } from "./ignore-glob.ts";
import { IgnorePatterns } from "./ignore-patterns.ts";

const about = async (text: string, path: string, effort = new Effort()) => {
  const patterns = await IgnorePatterns.of(text, new TimeSlices());
  return patterns.verdict(path.replace(/\/$/, "").split("/"), path.endsWith("/"), effort);
};

test.each([
  ["build", ["build", "build/", "a/build/"], ["build.js", "rebuild"]],
  ["build/", ["build/", "a/build/"], ["build"]],
  ["/build", ["build", "build/"], ["a/build"]],
  ["a/build", ["a/build"], ["build", "x/a/build"]],
  ["*.log", ["x.log", "a/b/.log"], ["x.logs", "log"]],
  ["*.log/", ["x.log/"], ["x.log"]],
  ["/*.log", ["x.log"], ["a/x.log"]],
  ["a/*/c", ["a/b/c"], ["a/c", "a/b/b/c"]],
  ["a/**/c", ["a/c", "a/b/c", "a/b/b/c"], ["x/a/c"]],
  ["a/**", ["a/b", "a/b/c"], ["a/", "b/a/b"]],
  ["**/logs", ["logs", "a/b/logs/"], ["blogs"]],
  ["**/logs/x", ["logs/x", "a/logs/x"], ["logs/a/x"]],
  ["a**b", ["ab", "axxb"], ["a/b"]],
  ["?[!a-c]x", ["zdx"], ["zax", "dx"]],
  ["[]a]", ["]", "a"], ["b"]],
  ["[[:digit:]_]z", ["1z", "_z"], ["az"]],
  ["\\#a", ["#a"], ["\\#a"]],
  ["\\!a", ["!a"], ["a"]],
  ["a\\*", ["a*"], ["ab"]],
  ["a  ", ["a"], ["a  "]],
  ["a\\ ", ["a "], ["a"]],
  ["a\r", ["a"], ["a\r"]],
  ["\uFEFFa", ["a"], ["\uFEFFa"]],
  ["# a", [], ["a", "# a"]],
  ["[a", [], ["[a", "a"]],
  ["a\\", [], ["a", "a\\"]],
  ["/", [], ["a", "a/"]],
  ["größe", ["größe"], ["gr??e"]],
  ["gr?ße", ["größe"], []],
])("%j", async (pattern, matching, others) => {
  for (const path of matching) expect(await about(pattern, path), path).toBe(true);
  for (const path of others) expect(await about(pattern, path), path).toBeUndefined();
});

test("the last pattern that matches counts, of whatever kind it is", async () => {
  expect(await about("*.log\n!keep.log", "keep.log")).toBe(false);
  expect(await about("!keep.log\n*.log", "keep.log")).toBe(true);
  expect(await about("a/b\n!a/*\n**/b\n!*", "a/b")).toBe(false);
  expect(await about("!x\nx/", "x/")).toBe(true);
  expect(await about("!x\nx/", "x")).toBe(false);
  expect(await about("k[e]ep\n!keep\nkee[p]", "keep")).toBe(true);
});

const NAME = "a".repeat(255);
const PATH = Array.from({ length: 2000 }, () => "a").join("/");

test.each([
  ["100,000 plain names", numbered((at) => `name-${at}`), "name-99999"],
  ["100,000 endings", numbered((at) => `*.${at}`), "x.99999"],
  ["100,000 paths", numbered((at) => `/a/b/${at}`), "a/b/99999"],
])("however many there are, %s are looked up and not tried", async (_, text, path) => {
  const effort = new Effort();
  expect(await about(text, path, effort)).toBe(true);
  effort.begin();
  expect(effort.stepsLeft).toBe(new Effort().stepsLeft);
});

test.each([
  ["stars without end", `${"*".repeat(1_000_000)}b`],
  ["stars and letters", Array.from({ length: 5000 }, () => `${"a*".repeat(100)}b`).join("\n")],
  ["folders without end", Array.from({ length: 50_000 }, () => `${"**/a/".repeat(4)}b`).join("\n")],
  ["classes", Array.from({ length: 20_000 }, () => "*[a-b]*[a-c]*[!d]x").join("\n")],
])("patterns that make too much work are given up, and it is said: %s", async (_, text) => {
  const effort = new Effort();
  const patterns = await IgnorePatterns.of(`${text}\nplain`, new TimeSlices());
  const before = effort.stepsLeft;
  for (const path of [NAME, PATH, "plain"]) patterns.verdict(path.split("/"), false, effort);
  expect(before - effort.stepsLeft).toBeLessThan(500_000);
  // What is looked up holds all the same.
  expect(patterns.verdict(["plain"], false, effort)).toBe(true);
});

test("a file with 100,000 lines is read in slices", async () => {
  let rests = 0;
  const slices = { isDue: true, rest: async () => void rests++ };
  await IgnorePatterns.of(
    numbered((at) => `${at}`),
    slices as TimeSlices,
  );
  expect(rests).toBeGreaterThan(1000);
});

function numbered(line: (at: number) => string): string {
  return Array.from({ length: 100_000 }, (_, at) => line(at)).join("\n");
}
