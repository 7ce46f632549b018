import { expect, test } from "vitest";
import type { FileDiff } from "../live/repository-api.ts";
import { inTreeOrder, treeRows } from "./changed-tree.ts";

const file = (path: string, insertions = 1, deletions = 0): FileDiff => ({
  path,
  status: "modified",
  binary: false,
  insertions,
  deletions,
  hunks: [],
});

const FILES = [
  file("src/billing/invoice.ts", 5, 2),
  file("README.md"),
  file("src/billing/tax/rate10.ts"),
  file("src/billing/tax/rate9.ts"),
  file("docs/guide/start.md"),
  file("__proto__/constructor"),
];

test("folders come first with what changed in them, numbers as numbers, a chain of folders on one row", () => {
  const rows = treeRows(FILES, () => false);
  expect(
    rows.map(({ name, depth, insertions, deletions, file }) => [depth, name, insertions, deletions, !file]),
  ).toEqual([
    [0, "__proto__", 1, 0, true],
    [1, "constructor", 1, 0, false],
    [0, "docs/guide", 1, 0, true],
    [1, "start.md", 1, 0, false],
    [0, "src/billing", 7, 2, true],
    [1, "tax", 2, 0, true],
    [2, "rate9.ts", 1, 0, false],
    [2, "rate10.ts", 1, 0, false],
    [1, "invoice.ts", 5, 2, false],
    [0, "README.md", 1, 0, false],
  ]);
});

test("a closed folder hides what is in it, and the diff is in the order of the open tree", () => {
  const rows = treeRows(FILES, (folder) => folder === "src/billing/");
  expect(rows.filter(({ path }) => path.startsWith("src/")).map(({ path }) => path)).toEqual(["src/billing/"]);
  expect(inTreeOrder(FILES).map(({ path }) => path)).toEqual([
    "__proto__/constructor",
    "docs/guide/start.md",
    "src/billing/tax/rate9.ts",
    "src/billing/tax/rate10.ts",
    "src/billing/invoice.ts",
    "README.md",
  ]);
});

test("a name that hides a character shows it", () => {
  const [row] = treeRows([file("a\u202etxt.exe")], () => false);
  expect(row?.name).toBe("a⟨U+202E⟩txt.exe");
});
