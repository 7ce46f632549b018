import { expect, test } from "vitest";
import type { Situation } from "../../projections/index.ts";
import { raisingWords } from "./resume-needs.ts";

test("the budget that is asked for is one that is enough: what is spent is not rounded down", () => {
  const spent = (cost_usd: number) =>
    ({
      agent: { outcome: { kind: "budget_exhausted" }, created: { model: "p/m" } },
      spending: { total: { cost_usd } },
    }) as unknown as Situation;
  expect([0.0131, 0.013_149, 2, 1.5].map((cost) => raisingWords(spent(cost)))).toEqual([
    " --budget USD (in all: more than $0.0131)",
    " --budget USD (in all: more than $0.0132)",
    " --budget USD (in all: more than $2)",
    " --budget USD (in all: more than $1.5)",
  ]);
});
