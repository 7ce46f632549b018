import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { canBeTypedTo, inputOf, type ShownScreen, seenState, showsText, TERMINAL_KINDS } from "./terminal-kind.ts";

/** Screens as they were seen, cut to what matters. */
const RULE = "─".repeat(40);

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
    seenState(kind, { title: "✳ Claude Code", screen: ["❯ an older prompt", "", " Something new"] }),
    inputOf(kind, box("half a line")),
    inputOf(kind, box('Try "fix lint errors"')),
    inputOf(kind, dialog),
  ]).toEqual(["idle", "busy", "dialog", null, "half a line", "", null]);
});

/**
 * Real screens of Codex 0.166.0, Gemini 0.61.0 and opencode 1.18.33 (`testing/screens/`, the first line is the title):
 * what is seen in each, and what is typed there; null is no line to type in.
 */
const SCREENS: Readonly<Record<string, readonly [state: string | null, typed: string | null]>> = {
  "codex-ready": ["idle", ""],
  "codex-typed": ["idle", "[tx] Task a for m/x from human: Über 漢字 🎉"],
  "codex-typed-tall": ["idle", "line 34"],
  "codex-typed-folded": ["idle", "[Pasted Content 1329 chars]"],
  "codex-busy": ["busy", ""],
  "codex-busy-typed": ["busy", "[tx] Task a for m/x from human: Über 漢字 🎉"],
  "codex-busy-queued": ["busy", ""],
  "codex-approve-command": ["dialog", null],
  "codex-approve-edit": ["dialog", null],
  "codex-denied": ["idle", ""],
  "codex-error": ["idle", ""],
  "codex-news": ["dialog", null],
  "codex-restricted": ["dialog", null],
  "codex-sign-in": ["dialog", null],
  "codex-trust": ["dialog", null],
  "gemini-ready": ["idle", ""],
  "gemini-ready-yolo": ["idle", ""],
  "gemini-typed": ["idle", "[tx] Task a for m/x from human: Über 漢字 🎉"],
  "gemini-typed-folded": ["idle", "[Pasted Text: 747 chars]"],
  "gemini-busy": ["busy", ""],
  "gemini-busy-typed": ["busy", "[tx] Task a for m/x from human: Über 漢字 🎉"],
  "gemini-busy-queued": ["busy", ""],
  "gemini-approve-command": ["dialog", null],
  "gemini-approve-edit": ["dialog", null],
  "gemini-denied": ["idle", ""],
  "gemini-error": ["idle", ""],
  "gemini-sign-in": ["dialog", null],
  "gemini-trust": ["dialog", null],
  "opencode-blank": [null, null],
  "opencode-ready": ["idle", ""],
  "opencode-typed": ["idle", "[tx] short one"],
  "opencode-typed-folded": ["idle", "[Pasted ~1 lines]"],
  "opencode-busy": ["busy", ""],
  "opencode-busy-typed-folded": ["busy", "[Pasted ~5 lines]"],
  "opencode-busy-queued": ["busy", ""],
  "opencode-approve-command": ["dialog", null],
  "opencode-approve-edit": ["dialog", null],
  "opencode-denied": ["idle", ""],
  "opencode-error": ["idle", ""],
  "opencode-question": ["dialog", null],
  "opencode-retrying": ["busy", ""],
};

describe("real screens", () => {
  test.each(Object.entries(SCREENS))("%s", (name, [state, typed]) => {
    const kind = kindOf(name);
    const view = screenOf(name);
    expect([seenState(kind, view), inputOf(kind, view.screen), canBeTypedTo(kind, view)]).toEqual([
      state,
      typed,
      typed !== null,
    ]);
  });

  test("all that are kept are looked at", () => {
    const kept = readdirSync(SCREEN_DIR).map((name) => name.replace(".txt", ""));
    expect(Object.keys(SCREENS).toSorted()).toEqual(kept.toSorted());
  });

  test("an open dialog is one whatever its title says, and an older prompt above it is no line to type in", () => {
    for (const [name, [state]] of Object.entries(SCREENS)) {
      if (state !== "dialog") continue;
      const view = screenOf(name);
      const title = { codex: "project", gemini: "◇  Ready (project)", opencode: "OpenCode" }[nameOfKind(name)];
      expect([name, seenState(kindOf(name), { ...view, title })]).toEqual([name, "dialog"]);
      // Words that nobody has seen yet: by the title, or not known; never idle.
      const strange = { ...view, screen: view.screen.map((line) => line.replace(/\p{L}/gu, "x")) };
      expect([name, canBeTypedTo(kindOf(name), strange)]).toEqual([name, false]);
    }
  });

  test("words of a dialog or of a busy program that somebody said are no state", () => {
    const said = ["Press enter to confirm", "● 1. Allow once", "(esc to cancel, 5s)", "△ Permission required", ""];
    for (const name of ["codex-ready", "gemini-ready", "opencode-denied"]) {
      const { title, screen } = screenOf(name);
      const more = { title, screen: [...said, ...screen] };
      expect([name, seenState(kindOf(name), more)]).toEqual([name, "idle"]);
    }
  });
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

test("messages that end alike: the one before pushed out of sight, or still there, is not taken for the new one", () => {
  const { plain, codex } = TERMINAL_KINDS;
  const end = "Then go on with what you were doing.)";
  const old = ["> an older one", end];
  const codexOld = ["› an older one", `  ${end}`, "• Well."];
  const input = (...lines: string[]) => [...lines, "", "  GPT-5.5 default"];
  expect([
    showsText(plain, [...old, "> "], ["line 9", end], `many lines\n${end}`),
    showsText(plain, [...old, "> "], [...old, "> "], `many lines\n${end}`),
    showsText(codex, [...codexOld, ...input("› Ask Codex to do anything")], input("› line 9", `  ${end}`), `x\n${end}`),
    showsText(codex, input("› Ask Codex to do anything"), [...codexOld, ...input("› Ask Codex to do anything")], end),
  ]).toEqual([true, false, true, false]);
});

test("in a box it is looked for in the box, not in what stands beside it", () => {
  const { opencode } = TERMINAL_KINDS;
  const edge = `  ╹${"▀".repeat(30)}`;
  const box = (...rows: string[]) => [
    "  ┃  what was said before",
    "",
    ...["", ...rows, "", "Build · Model"].map((row) => `  ┃  ${row.padEnd(32)}beside it`),
    edge,
  ];
  const text = "漢字 and a tail that is wrapped";
  const now = box("漢字 and a tail".padEnd(32).slice(0, 30), "that is wrapped");
  expect([
    showsText(opencode, box(""), now, text),
    showsText(opencode, box(""), box("漢字 and a tail"), text),
    showsText(opencode, box(""), [...box(""), text], text),
    inputOf(opencode, box("")),
    inputOf(opencode, now),
  ]).toEqual([true, false, false, "", "漢字 and a tail\nthat is wrapped"]);
});

const SCREEN_DIR = join(import.meta.dirname, "screens");

function screenOf(name: string): ShownScreen {
  const [title = "", ...screen] = readFileSync(join(SCREEN_DIR, `${name}.txt`), "utf8").split("\n");
  return { title, screen };
}

function nameOfKind(name: string): "codex" | "gemini" | "opencode" {
  return (["codex", "gemini", "opencode"] as const).find((kind) => name.startsWith(kind)) ?? "codex";
}

function kindOf(name: string) {
  return TERMINAL_KINDS[nameOfKind(name)];
}
