import { expect, test } from "vitest";
import { inputOf, seenState, showsText, TERMINAL_KINDS } from "./terminal-kind.ts";

/** Screens as they were seen, cut to what matters. */
const RULE = "─".repeat(40);
const BOX = "▄".repeat(40);

test("Claude Code: busy by its title, idle with a line to type in, a dialog where there is none", () => {
  const kind = TERMINAL_KINDS.claude;
  const box = (typed: string) => [
    "❯ an older prompt",
    "● Do you want to go on?",
    RULE,
    `❯ ${typed}`,
    RULE,
    "  ? for shortcuts",
  ];
  const dialog = [
    "❯ an older prompt",
    RULE,
    " Do you want to create a.txt?",
    " ❯ 1. Yes",
    "   2. No",
    " Esc to cancel",
  ];
  expect([
    seenState(kind, { title: "✳ Claude Code", screen: box("") }),
    seenState(kind, { title: "◑ Claude Code", screen: box("") }),
    seenState(kind, { title: "✳ Claude Code", screen: dialog }),
    inputOf(kind, box("half a line")),
    inputOf(kind, box('Try "fix lint errors"')),
    inputOf(kind, dialog),
  ]).toEqual(["idle", "busy", "dialog", "half a line", "", null]);
});

test("Codex: the spinner in its title; choices are no line to type in", () => {
  const kind = TERMINAL_KINDS.codex;
  const screen = ["› [tx] an older prompt", "• holding", "› Ask Codex to do anything", "  GPT-5.5 default · /tmp"];
  const dialog = [
    "› [tx] an older prompt",
    "  Would you like to run it?",
    "› 1. Yes, proceed",
    "  2. No",
    "  Press enter to confirm",
  ];
  expect([
    seenState(kind, { title: "cwd", screen }),
    seenState(kind, { title: "⠋ cwd", screen }),
    seenState(kind, { title: "cwd", screen: dialog }),
    inputOf(kind, screen),
  ]).toEqual(["idle", "busy", "dialog", ""]);
});

test("Gemini: by its title; the box at the bottom is where one types", () => {
  const kind = TERMINAL_KINDS.gemini;
  const screen = [BOX, " > [tx] an older prompt", "✦ holding", BOX, " >   Type your message or @path/to/file", " /tmp"];
  expect([
    seenState(kind, { title: "◇  Ready (cwd)", screen }),
    seenState(kind, { title: "✦  Working… (cwd)", screen }),
    seenState(kind, {
      title: "◇  Ready (cwd)",
      screen: [...screen.slice(0, 3), "Apply this change?", "● 1. Allow once"],
    }),
    inputOf(kind, screen),
  ]).toEqual(["idle", "busy", "dialog", ""]);
});

test("a text shows when its end does, however it is wrapped, or what stands for it", () => {
  const { claude, plain } = TERMINAL_KINDS;
  expect([
    showsText(plain, ["> "], ["> a long line that", "was wrapped here"], "a long line that was wrapped here"),
    showsText(plain, ["> old words"], ["> old words"], "old words"),
    showsText(plain, ["> old words"], ["> old words", "> old words"], "old words"),
    showsText(claude, ["❯ "], ["❯ [Pasted text #1 +29 lines]"], "many\nlines"),
  ]).toEqual([true, false, true, true]);
});
