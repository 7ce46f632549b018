import { expect, test } from "vitest";
import type { Situation } from "../projections/index.ts";
import { script } from "../testing/index.ts";
import { modelChange } from "./model-change.ts";

test("an agent led by a program may have another model for its workers", async () => {
  const created = { name: "g", model: "claude-code/sonnet", worker_model: "old/one", budget_usd: null };
  const house = {
    checkModel: () => {},
    programFor: (model: string) => (model === "claude-code/sonnet" ? "claude-code" : undefined),
    checkPrices: async () => {},
    model: async (id: string) => {
      if (id !== "new/two") throw new Error(`There is no model ${id}.`);
      return script();
    },
  };
  expect(await modelChange({ agent: { created } } as Situation, { worker_model: "new/two" }, house)).toEqual({
    model: "claude-code/sonnet",
    worker_model: "new/two",
    was: { model: "claude-code/sonnet", worker_model: "old/one" },
  });
});
