import { expect, test } from "vitest";
import { commitMessage, humanIsNeeded, mergeSubject, revertMessage } from "./merge-words.ts";

test("the first line of a summary is a commit's subject, once; a long one is cut at a word, and whole below", () => {
  expect(commitMessage("Fix it", "Mark: 1")).toBe("Fix it\n\nMark: 1\n");
  expect(commitMessage(" Fix it\nIt was broken.\n", "Mark: 1")).toBe("Fix it\n\nIt was broken.\n\nMark: 1\n");
  const long = `${"word, ".repeat(40)}end\nmore`;
  const [subject = "", ...body] = commitMessage(long, "Mark: 1").split("\n");
  expect([subject, body.join("\n")]).toEqual([`${"word, ".repeat(16).slice(0, -2)}…`, `\n${long}\n\nMark: 1\n`]);
});

test("the commit that takes work out has the whole reason", () => {
  expect(revertMessage("node-3", "Not like that.\nUse the old names.")).toBe(
    "Revert node-3: Not like that.\n\nUse the old names.\n",
  );
  const why = `The totals are rounded before they are added up, so that the sum is wrong by up to ${"€".repeat(30)} until the last row`;
  const [subject = "", empty, ...body] = revertMessage("node-3", why).split("\n");
  expect(subject).toBe(
    "Revert node-3: The totals are rounded before they are added up, so that the sum is wrong by up to…",
  );
  expect([empty, body]).toEqual(["", [why, ""]]);
});

test("a subject without spaces is cut between its characters", () => {
  const subject = mergeSubject("node-3", `修正${"😀".repeat(80)}`);
  expect(subject).toMatch(/^Merge node-3: 修正(?:😀)+…$/u);
  expect(subject.length).toBeLessThanOrEqual(100);
  expect(mergeSubject("node-3", "Fix it\nand more")).toBe("Merge node-3: Fix it");
});

test("the human is told how often it was what, how it begins and ends, and where the rest is", () => {
  const text = `the check \`npm test\` did not pass:\n${Array.from({ length: 183 }, (_, at) => `line ${at}`).join("\n")}`;
  const told = humanIsNeeded(
    "node-2",
    { why: "checks", text, whole: "all", times: { conflicts: 1, checks: 2 } },
    "/home/nodes/node-2/_check.txt",
  );
  expect(told.split("\n")).toEqual([
    "node-2 did not get into the branch (in conflict once, checks failed twice), so you may want to look.",
    ...["", "the check `npm test` did not pass:"],
    ...Array.from({ length: 15 }, (_, at) => `line ${at}`),
    "…",
    ...Array.from({ length: 5 }, (_, at) => `line ${178 + at}`),
    ...["", "All of it: /home/nodes/node-2/_check.txt"],
    ...["", "Tell its worker what to do, change its checks, or cancel it."],
  ]);
  expect(
    humanIsNeeded("node-2", { why: "conflict", text: "a\nb", whole: null, times: { conflicts: 3, checks: 0 } }, null),
  ).toContain("(in conflict 3 times), so you may want to look.\n\na\nb\n\nTell its worker");
});
