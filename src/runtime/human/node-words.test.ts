import { expect, test } from "vitest";
import { restingAgent } from "./node-words.ts";

test("how an agent rests is said as people say it", () => {
  const words = (["stopped", "paused", "failed", "working"] as const).map((status) => restingAgent("g", status));
  expect(words.map((each) => each.split(":", 1)[0])).toEqual([
    "g is stopped",
    "g is paused",
    "g has failed",
    "g was interrupted",
  ]);
});
