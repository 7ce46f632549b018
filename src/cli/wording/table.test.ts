import { expect, test } from "vitest";
import { table, tableWidth } from "./table.ts";

const rows = [
  [{ text: "NAME" }, { text: "STATUS" }, { text: "GOAL" }],
  [{ text: "日本" }, { text: "completed", paint: (text: string) => `<${text}>` }, { text: "Survey everything" }],
];

test("columns stand under each other, the last is cut, and colours do not count", () => {
  expect(table(rows, 26)).toEqual(["NAME  STATUS     GOAL", "日本  <completed>  Survey e…"]);
});

test("without a width nothing is cut", () => {
  expect(table(rows, Number.POSITIVE_INFINITY)).toEqual([
    "NAME  STATUS     GOAL",
    "日本  <completed>  Survey everything",
  ]);
});

test("what has no room is left out, its colour and gap too: nothing is torn", () => {
  const paint = (text: string) => `<${text}>`;
  const painted = rows.map((row) => row.map(({ text }) => ({ text, paint })));
  expect([17, 15, 5].map((width) => table(painted, width))).toEqual([
    ["<NAME>  <STATUS>", "<日本>  <completed>"],
    ["<NAME>  <STATUS>", "<日本>  <completed>"],
    ["<NAME>", "<日本>"],
  ]);
  expect(tableWidth(rows)).toBe(34);
});
