import { expect, test } from "vitest";
import { nameFrom } from "./agent-names.ts";

test("an agent is called after the first telling words of its goal, in any script, as people type them", () => {
  const goals = [
    "Compare the three CSV files in ./data",
    "Zähle die Größe der Äpfel",
    "Za\u0308hle die Gro\u0308ße der A\u0308pfel",
    "한국어로 보고서를 써라",
    "हिन्दी में रिपोर्ट लिखो",
    "中文报告",
    "🦊🦊",
    "",
  ];
  expect(goals.map(nameFrom)).toEqual([
    "compare-three-csv-files",
    "zähle-die-größe-der",
    "zähle-die-größe-der",
    "한국어로-보고서를-써라",
    "हिन्दी-में-रिपोर्ट-लिखो",
    "中文报告",
    "agent",
    "agent",
  ]);
});

test("a long word is cut between letters, never within one", () => {
  expect(nameFrom("𠮷".repeat(30))).toBe("𠮷".repeat(20));
  expect(nameFrom(`${"x".repeat(39)}é`)).toBe(`${"x".repeat(39)}é`);
  expect(nameFrom(`${"x".repeat(39)} short`)).toBe("x".repeat(39));
});
