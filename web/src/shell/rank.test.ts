import { expect, test } from "vitest";
import { ranked } from "./rank.ts";

const entry = (kind: string, text: string, of = "") => ({ kind, text, of });
const found = (query: string, ...entries: ReturnType<typeof entry>[]) => ranked(entries, query).map(({ text }) => text);

test("what is called so comes before what begins so, has a word that does, holds it, or belongs to it", () => {
  const all = [
    entry("worker", "Alice", "Review of the year"),
    entry("mesh", "preview"),
    entry("agent", "The last review"),
    entry("agent", "Reviews, old and new"),
    entry("mesh", "review", "shop"),
  ];
  expect(found("review", ...all)).toEqual(["review", "Reviews, old and new", "The last review", "preview", "Alice"]);
  expect(found("REVIEW  o", ...all)).toEqual(["Reviews, old and new", "review", "Alice"]);
});

test("every word must be there, in the name, in what it is, or in what it belongs to; equals keep their order", () => {
  const all = [
    entry("mesh agent", "fixer", "review · shop"),
    entry("mesh agent", "fixer", "review · attic"),
    entry("mesh agent", "verifier", "review · shop"),
  ];
  expect(ranked(all, "fix shop")).toEqual([all[0]]);
  expect(ranked(all, "agent review")).toEqual(all);
  expect(ranked(all, "fixer zebra")).toEqual([]);
  expect(ranked(all, "  ")).toEqual(all);
});

test("what looks like a pattern is only words", () => {
  expect(found("a.b", entry("node", "axb"), entry("node", "see a.b"))).toEqual(["see a.b"]);
  expect(found("c++ (", entry("node", "C++ (new)"))).toEqual(["C++ (new)"]);
});
