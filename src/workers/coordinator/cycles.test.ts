import { expect, test } from "vitest";
import { cycleRules } from "./cycles.ts";

test("who looks often is not told to wait for a change; who looks seldom is, and who watches needs no telling", () => {
  const speaksOfChange = (order: Parameters<typeof cycleRules>[0]) => cycleRules(order).includes("on_change");
  expect([
    speaksOfChange({ cycle_seconds: 60 }),
    speaksOfChange({ cycle_seconds: 3600 }),
    speaksOfChange({}),
    speaksOfChange({ watch: { path: "project/status.txt" } }),
  ]).toEqual([false, true, true, false]);
});
