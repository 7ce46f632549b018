import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { OpeningQuestion } from "./opening-question.ts";
import { TERMINAL_KINDS } from "./terminal-kind.ts";

const screenOf = (name: string) =>
  readFileSync(new URL(`./screens/${name}.txt`, import.meta.url), "utf8")
    .split("\n")
    .slice(1);
const RESTRICTED = screenOf("codex-restricted");

test("the question whether Codex may open a folder whose settings it does not load is answered at its start", () => {
  const opening = new OpeningQuestion(TERMINAL_KINDS.codex);
  expect(opening.isThere(RESTRICTED, "starting")).toBe(true);
  // A fresh dialog swallows keys; one that stays is a person's after a while.
  const due = Array.from({ length: 20 }, (_, second) => [
    opening.isDue(second * 1000),
    opening.isThere(RESTRICTED, "starting"),
  ]);
  expect(due.flatMap(([isDue], second) => (isDue ? [second] : []))).toEqual([0, 3, 6, 9, 12]);
  expect(due.at(-1)).toEqual([false, false]);
});

test("whether to trust a folder is not answered, nor the same words once it works or was answered, nor those of others", () => {
  const codex = () => new OpeningQuestion(TERMINAL_KINDS.codex);
  expect(codex().isThere(screenOf("codex-trust"), "starting")).toBe(false);
  expect(codex().isThere(RESTRICTED, "busy")).toBe(false);
  const answered = codex();
  expect([answered.isThere(RESTRICTED, "ready"), answered.isDue(0)]).toEqual([true, true]);
  expect(answered.isThere(screenOf("codex-ready"), "ready")).toBe(false);
  expect(answered.isThere(RESTRICTED, "ready")).toBe(false);
  expect(new OpeningQuestion(TERMINAL_KINDS.claude).isThere(RESTRICTED, "starting")).toBe(false);
});
