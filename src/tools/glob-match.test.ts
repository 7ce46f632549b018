import { expect, test } from "vitest";
import { globMatcher } from "./glob-match.ts";

test.each([
  ["*.ts", ["a.ts", "src/deep/a.ts"], ["a.tsx", "ts"]],
  ["src/*.ts", ["src/a.ts"], ["src/deep/a.ts", "a.ts"]],
  ["src/**/*.ts", ["src/a.ts", "src/x/y/a.ts"], ["lib/src/a.ts", "src/a.js"]],
  ["**/test/**", ["test/a", "x/test/y/z"], ["tests/a"]],
  ["**", ["a", "a/b"], []],
  ["a?c.{md,txt}", ["abc.md", "x/aéc.txt"], ["ac.md", "abc.rst"]],
  ["{a,b{c,d}}/*", ["a/x", "bc/x", "bd/x"], ["b/x"]],
  ["[a-c]*[!0-9]", ["apple", "c_"], ["dog", "a1"]],
  ["./docs/*", ["docs/a"], ["a"]],
  ["{unclosed", ["{unclosed"], ["unclosed"]],
])("%s", (pattern, matching, others) => {
  const matches = globMatcher(pattern);
  expect([...matching, ...others].filter(matches)).toEqual(matching);
});

test("no pattern takes long, however it is made", () => {
  const name = "a".repeat(255);
  const path = Array.from({ length: 200 }, () => "a").join("/");
  expect(globMatcher(`${"a*".repeat(100)}b`)(name)).toBe(false);
  expect(globMatcher(`${"**/a/".repeat(40)}b`)(path)).toBe(false);
  expect(globMatcher(`${"{a,b}".repeat(40)}c`)(name)).toBe(false);
});
