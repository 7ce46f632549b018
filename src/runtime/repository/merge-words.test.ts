import { expect, test } from "vitest";
import { commitMessage, humanIsNeeded } from "./merge-words.ts";

test("the first line of a summary is a commit's subject, once; a long one is cut there and whole below", () => {
  expect(commitMessage("Fix it", "Mark: 1")).toBe("Fix it\n\nMark: 1\n");
  expect(commitMessage(" Fix it\nIt was broken.\n", "Mark: 1")).toBe("Fix it\n\nIt was broken.\n\nMark: 1\n");
  const long = `${"word ".repeat(40)}end\nmore`;
  const [subject = "", ...body] = commitMessage(long, "Mark: 1").split("\n");
  expect([subject.length, body.join("\n")]).toEqual([100, `\n${long}\n\nMark: 1\n`]);
});

test("the human is told how often it was what, the last lines, and where the rest is", () => {
  const text = `the check \`npm test\` did not pass:\n${Array.from({ length: 183 }, (_, at) => `line ${at}`).join("\n")}`;
  const told = humanIsNeeded(
    "node-2",
    { why: "checks", text, whole: "all", times: { conflicts: 1, checks: 2 } },
    "/home/nodes/node-2/_check.txt",
  );
  expect(told.split("\n")).toEqual([
    "node-2 did not get into the branch (in conflict once, checks failed twice), so you may want to look.",
    ...["", "the check `npm test` did not pass:", "…"],
    ...Array.from({ length: 20 }, (_, at) => `line ${163 + at}`),
    ...["", "All of it: /home/nodes/node-2/_check.txt"],
    ...["", "Tell its worker what to do, change its checks, or cancel it."],
  ]);
  expect(
    humanIsNeeded("node-2", { why: "conflict", text: "a\nb", whole: null, times: { conflicts: 3, checks: 0 } }, null),
  ).toContain("(in conflict 3 times), so you may want to look.\n\na\nb\n\nTell its worker");
});
