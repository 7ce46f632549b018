import { expect, test } from "vitest";
import { coordinatorPrompt, workerPrompt } from "./prompt.ts";

test("a coordinator's prompt: identity, goal, date, memory, rules, files; what is empty is left out", () => {
  const brief = {
    soul: "You are calm.",
    goal: "Go",
    surroundings: "Today is 2026-01-01.",
    project: "# What the project says",
    memory: "Hot.",
    rules: "Be kind.",
    files: "F",
  };
  expect(coordinatorPrompt(brief).split("\n\n---\n\n")).toEqual([
    "You are calm.",
    "# Your goal\n\nGo",
    "Today is 2026-01-01.",
    "# What the project says",
    "# Your memory\n\nHot.",
    "Be kind.",
    "F",
  ]);
  expect(coordinatorPrompt({ ...brief, memory: "\n" })).not.toContain("memory");
});

test("a worker's prompt: who it is and what it knows; what is empty is left out", () => {
  const brief = {
    name: "Alice",
    identity: "A generalist.",
    memory: "Hot.",
    notebook: "Fan.",
    surroundings: "Today is 2026-01-01.",
    project: "# What the project says",
    team: "# Your team",
    rules: "Be kind.",
    files: "F",
  };
  expect(workerPrompt(brief).split("\n\n---\n\n")).toEqual([
    "You are Alice. A generalist.",
    "# Your memory (from past work)\n\nHot.",
    "# Your notebook\n\nFan.",
    "Today is 2026-01-01.",
    "# What the project says",
    "# Your team",
    "Be kind.",
    "F",
  ]);
  expect(workerPrompt({ ...brief, memory: "\n", notebook: "", project: "" }).split("\n\n---\n\n")).toEqual([
    "You are Alice. A generalist.",
    "Today is 2026-01-01.",
    "# Your team",
    "Be kind.",
    "F",
  ]);
});
