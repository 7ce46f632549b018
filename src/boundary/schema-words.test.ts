import { expect, test } from "vitest";
import { z } from "zod";
import { innermost, issueWords } from "./schema-words.ts";

const form = z.strictObject({
  goal: z.string().min(1),
  count: z.int().min(1).max(9).optional(),
  tags: z.array(z.string()).max(1).optional(),
  mode: z.enum(["finite", "infinite"]).optional(),
  site: z.url().optional(),
  name: z.string().min(3, "give it a name").optional(),
  every: z.union([z.number(), z.strictObject({ seconds: z.number() })]).optional(),
  step: z.discriminatedUnion("do", [z.object({ do: z.literal("go") }), z.object({ do: z.literal("stop") })]).optional(),
});

test.each<[unknown, string[]]>([
  [{}, ["goal: expected text in quotes; it is missing"]],
  [{ goal: 5 }, ["goal: expected text in quotes; there is a number"]],
  [{ goal: "" }, ["goal: expected text that is not empty"]],
  [{ goal: "x", count: 1.5 }, ["count: expected a whole number"]],
  [{ goal: "x", count: 0 }, ["count: expected at least 1"]],
  [{ goal: "x", tags: ["a", "b"] }, ["tags: expected at most 1 entry"]],
  [{ goal: "x", mode: "eternal" }, ['mode: expected one of "finite", "infinite"']],
  [{ goal: "x", site: "here" }, ["site: expected an address"]],
  [{ goal: "x", name: "a" }, ["name: give it a name"]],
  [{ goal: "x", every: "day" }, ["every: expected a number or an object in braces"]],
  [{ goal: "x", every: { seconds: "1" } }, ["every.seconds: expected a number; there is text"]],
  [{ goal: "x", gaol: "y" }, [': there is no field "gaol"']],
  [{ goal: "x", step: { do: "run" } }, ['step.do: expected one of "go", "stop"']],
])("%j is told in plain words", (value, words) => {
  const { error } = form.safeParse(value);
  expect(innermost(error?.issues ?? []).map((issue) => `${issue.path.join(".")}: ${issueWords(issue)}`)).toEqual(words);
});
