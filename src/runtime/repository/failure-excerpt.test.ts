import { expect, test } from "vitest";
import { failureExcerpt } from "./failure-excerpt.ts";

const lines = (count: number, line: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => line(at)).join("\n");
const passing = lines(300, (at) => `ok ${at} - passes\n  ---\n  duration_ms: 1\n  ...`);

test("what failed comes first, with the lines that belong to it, then the end", () => {
  const failed = lines(2, (at) => `not ok ${at} - adds ${at}\n  ---\n${lines(12, (n) => `  detail ${n}`)}\n  ...`);
  expect(failureExcerpt(`${passing}\n${failed}\n${passing}\n# tests 602\n# fail 2\n`)).toBe(
    `…\n${failed}\n…\n${passing.split("\n").slice(-8).join("\n")}\n# tests 602\n# fail 2`,
  );
});

const SPEC = `✖ adds (1.02ms)
  AssertionError [ERR_ASSERTION]: 2 == 3
${lines(14, (at) => `      at Test.run (node:internal/test_runner/test:${at})`)} {
    code: 'ERR_ASSERTION',
    operator: '=='
  }`;

test("of 185 lines, of which 20 are a failure told twice, it is told once, and the numbers", () => {
  const passed = lines(140, (at) => `✔ case ${at} (0.12ms)`);
  const whole = `${passed}\n${SPEC}\nℹ tests 141\nℹ fail 1\n\n✖ failing tests:\n\ntest at a.test.js:3:1\n${SPEC}\n`;
  expect(whole.split("\n").length).toBe(185);
  expect(failureExcerpt(whole)).toBe(`…\n${SPEC}\nℹ tests 141\nℹ fail 1\n\n✖ failing tests:\n\ntest at a.test.js:3:1`);
});

const noise = (line: string) => lines(120, () => line);

test.each([
  [
    "pytest",
    noise("test_x.py::test_pass PASSED"),
    "____ test_add ____\n\n    def test_add():\n        total = add(1, 2)\n>       assert total == 3\nE       assert 4 == 3\n\ntest_x.py:9: AssertionError",
    "FAILED test_x.py::test_add - assert 4 == 3\n=== 1 failed, 120 passed in 2.24s ===",
  ],
  [
    "go test -v, which says what was wrong before it says where",
    noise("=== RUN   TestOk\n--- PASS: TestOk (0.00s)"),
    "    a_test.go:7: got 4, want 3\n--- FAIL: TestAdd (0.00s)",
    "FAIL\nFAIL\texample.com/a\t0.003s",
  ],
  [
    "cargo test",
    noise("test tests::is_fine ... ok"),
    "---- tests::adds stdout ----\n\nthread 'tests::adds' panicked at src/lib.rs:10:9:\nassertion `left == right` failed\n  left: 3\n right: 4",
    "test result: FAILED. 59 passed; 1 failed; 0 ignored",
  ],
  [
    "a linter, with the file that its lines stand below",
    noise("/x/ok.js checked and found to be in order"),
    "/x/a.js\n  3:5  error  'x' is not defined  no-undef\n  4:5  error  'y' is not defined  no-undef",
    "✖ 2 problems",
  ],
  [
    "a compiler",
    noise("compiling with many flags"),
    "src/a.c:12:5: error: 'x' undeclared\n   12 |     x = 3;",
    "make: *** [all] Error 1",
  ],
])("what failed is found in the output of %s", (_, before, failed, end) => {
  const shown = failureExcerpt(`${before}\n${failed}\n${before}\n${end}\n`);
  expect(shown.startsWith(`…\n${failed}\n`)).toBe(true);
  expect(shown.endsWith(end)).toBe(true);
  expect(shown.length).toBeLessThan(1_500);
});

test("what passed after a failure is no part of it", () => {
  const shown = failureExcerpt(`× adds 7ms\n   → expected 3\n${noise("   ✓ is fine 0ms")}\nTests 1 failed\n`);
  expect(shown.split("\n").slice(0, 3)).toEqual(["× adds 7ms", "   → expected 3", "…"]);
});

test("a short one is shown whole; of one that only fails, the first, and how many more", () => {
  expect(failureExcerpt("not ok 1\n")).toBe("not ok 1\n");
  const shown = failureExcerpt(lines(2000, (at) => `not ok ${at}\n  error: nope ${at}`));
  expect(shown.startsWith("not ok 0\n  error: nope 0\nnot ok 1\n")).toBe(true);
  expect(shown).toMatch(/\n… \(\d+ more places say that something failed\)/);
  expect(shown.length).toBeLessThan(4_000);
  expect(failureExcerpt(`FAIL ${"x".repeat(1000)}\n`.repeat(1000)).length).toBeLessThan(4_000);
});

test("where nothing says what failed, both ends are shown, the end more of it", () => {
  const shown = failureExcerpt(lines(1000, (at) => `step ${at}`));
  expect(shown).toMatch(/^step 0\nstep 1\n/);
  expect(shown).toMatch(/\nstep 998\nstep 999$/);
  expect(shown.length).toBeLessThan(3_100);
  expect(shown.indexOf("\n…\n")).toBeLessThan(700);
});

test("lines made to be slow to read are read", () => {
  const hostile = [" ".repeat(300_000), "_".repeat(300_000), "a".repeat(300_000), `not ok${" -".repeat(100_000)}`];
  expect(failureExcerpt(hostile.join("\n")).length).toBeLessThan(4_000);
});
