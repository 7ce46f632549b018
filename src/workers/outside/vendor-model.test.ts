import { expect, test } from "vitest";
import { pricedModel } from "./vendor-model.ts";

test("what programs call their models is found in the table of prices", () => {
  const names = ["claude-sonnet-4-5", "gpt-5.5[high]", "o3", "gemini-2.5-pro", "anthropic/claude-opus-4-5", "mine"];
  expect(names.map(pricedModel)).toEqual([
    "anthropic/claude-sonnet-4-5",
    "openai/gpt-5.5",
    "openai/o3",
    "google/gemini-2.5-pro",
    "anthropic/claude-opus-4-5",
    "mine",
  ]);
});
