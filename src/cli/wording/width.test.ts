import fc from "fast-check";
import { expect, test } from "vitest";
import {
  cutToWidth,
  harmless,
  plain,
  plainLines,
  widthOf,
  wrap,
  wrapAfter,
  wrapBeside,
  wrapColoured,
  wrapIndented,
  wrapMessage,
} from "./width.ts";

test("nothing that a model says can steer the terminal", () => {
  expect({
    colour: plain("\u001b[31mred\u001b[0m"),
    title: plain("\u001b]0;owned\u0007after"),
    clipboard: plain("\u001b]52;c;ZXZpbA==\u001b\\after"),
    unendedString: plain("before\u001b]0;owned"),
    eightBit: plain("\u009b2Jcleared\u009d0;x\u009c!"),
    overwriting: plain("good\r\u001b[Kbad\bx"),
    direction: plain("safe\u202eexe.txt"),
    lines: plain("one\n\ttwo"),
  }).toEqual({
    colour: "red",
    title: "after",
    clipboard: "after",
    unendedString: "before",
    eightBit: "cleared!",
    overwriting: "good badx",
    direction: "safeexe.txt",
    lines: "one two",
  });
});

test("what is left of any text is printable, whatever it was", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect([plain(text), ...plainLines(text)].join("")).not.toMatch(/[\p{Cc}\p{Cs}]/u);
    }),
  );
});

test("lines stay lines, and keep their indentation", () => {
  expect(plainLines("# Title\r\n\n\t- item \u001b[1mbold\u001b[0m\n")).toEqual(["# Title", "", "    - item bold", ""]);
});

test("width is counted in columns, not in letters", () => {
  expect(["abc", "naïve", "日本", "👩‍🚀", "e\u0301", "…"].map(widthOf)).toEqual([3, 5, 4, 4, 1, 1]);
});

test("a cut line says that it was cut and fits", () => {
  expect([
    cutToWidth("abcdef", 6),
    cutToWidth("abcdef", 5),
    cutToWidth("日本語", 5),
    cutToWidth("ab cd", 4),
    cutToWidth("abc", 0),
  ]).toEqual(["abcdef", "abcd…", "日本…", "ab…", ""]);
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.nat(30), (text, columns) => {
      expect(widthOf(cutToWidth(text, columns))).toBeLessThanOrEqual(columns);
    }),
  );
});

test("wrapped words are all there, in order, and none too wide", () => {
  expect(wrap("the quick brown fox", 10)).toEqual(["the quick", "brown fox"]);
  expect(wrap("a incomprehensibilities b", 8)).toEqual(["a", "incompre", "hensibil", "ities b"]);
  fc.assert(
    fc.property(fc.string({ unit: "grapheme-ascii" }), fc.integer({ min: 2, max: 20 }), (text, columns) => {
      const lines = wrap(text, columns);
      expect(lines.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
      expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(columns);
    }),
  );
});

test("a message is wrapped at words; its commands and paths stay whole, to be copied", () => {
  const message =
    "The home /home/alice/projects/agiraph-home/of-the-team is in use. Stop it: agiraph stop chip-faster-measure-both. " +
    "`agiraph status` shows more · bring it back: npm start -- rm ID --undo · or wait";
  expect(wrapMessage(message, 40)).toEqual([
    "The home",
    "/home/alice/projects/agiraph-home/of-the-team",
    "is in use. Stop it:",
    "agiraph stop chip-faster-measure-both.",
    "`agiraph status` shows more · bring it",
    "back: npm start -- rm ID --undo · or",
    "wait",
  ]);
  expect(wrapMessage("Sign in: agiraph programs login claude", 20)).toEqual([
    "Sign in:",
    "agiraph programs login claude",
  ]);
});

test("what goes to a terminal keeps colours, tabs and line breaks, and no other control", () => {
  const ours = "\u001b[31mred\u001b[39m\n\tplain \u001b[1;2mno\u001b[0m";
  expect(harmless(ours)).toBe("\u001b[31mred\u001b[39m\n\tplain no\u001b[0m");
  const hostile = "a\u001b]0;title\u0007b\u001b[2Jc\u009b1md\u001bPq\u001b\\e\u001b[8mf\u202eg\rh\u001b]52;c;eA==";
  expect(harmless(hostile)).toBe("abcdefgh");
});

test("what is indented keeps its indentation where it is wrapped, and a choice stands beside its number; commands stay whole", () => {
  const lines = [
    "  Which of them is it, and why?",
    "    2  SQLite with a long explanation",
    "  │ what a program wants to run, as it wrote it",
    "  Then: agiraph answer agent-abcd1234 'your answer'",
  ];
  expect(lines.flatMap((line) => wrapIndented(line, 28))).toEqual([
    "  Which of them is it, and",
    "  why?",
    "    2  SQLite with a long",
    "       explanation",
    "  │ what a program wants to run, as it wrote it",
    "  Then:",
    "  agiraph answer agent-abcd1234 'your answer'",
  ]);
  expect(wrapIndented(lines[0] ?? "", Number.POSITIVE_INFINITY)).toEqual([lines[0]]);
});

test("a path or an address that is too wide for a line stays whole; prose without spaces does not", () => {
  const path = "/home/alice/.agiraph/agents/agent-abcd1234/scratch";
  expect(wrapAfter("? ", `Put it into ${path}, then say done`, 30)).toEqual([
    "? Put it into",
    `  ${path},`,
    "  then say done",
  ]);
  expect(wrap("一二三四五六七八九十", 8, "whole")).toEqual(["一二三四", "五六七八", "九十"]);
  expect(wrap("/文件/一二三四五六七八", 8, "whole")).toEqual(["/文件/一二三四五六七八"]);
});

test("what is said to a person is wrapped with its colours, which take no room", () => {
  const said = "\u001b[31m✗\u001b[39m one two three four\n\u001b[2mfive \u2060six seven eight nine\u001b[22m\n  ten";
  expect(wrapColoured(said, 20)).toEqual([
    "\u001b[31m✗\u001b[39m one two three four",
    "\u001b[2mfive six seven eight",
    "nine\u001b[22m",
    "  ten",
  ]);
});

test("a text beside its label is wrapped below itself, and a command in it stays whole", () => {
  const costs = "no Codex workers; install it: npm install -g @agentclientprotocol/codex-acp";
  expect(wrapBeside("\u001b[33m–\u001b[39m codex  ", 9, `\u001b[2m${costs}\u001b[22m`, 40)).toEqual([
    "\u001b[33m–\u001b[39m codex  \u001b[2mno Codex workers; install it:",
    "         npm install -g @agentclientprotocol/codex-acp\u001b[22m",
  ]);
});
