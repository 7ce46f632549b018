import fc from "fast-check";
import { expect, test } from "vitest";
import { TimeSlices } from "../store/disk/time-slices.ts";
import { LikeStatements } from "./like-statements.ts";
import { differ, type Statement, statementsOf } from "./statements.ts";

const WORDS = "tea coffee billing search Ann Bob owner likes short long answer room printer nine four red blue".split(
  " ",
);
const line = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 8 }).map((words) => words.join(" "));
const text = fc.array(
  fc.oneof({ weight: 5, arbitrary: line }, { weight: 1, arbitrary: line.map((each) => `## ${each}`) }),
);

test("those that differ are the same as by comparing all, in the same order", async () => {
  await fc.assert(
    fc.asyncProperty(text, async (lines) => {
      const statements = [...statementsOf("a.md", lines.join("\n"))];
      const like = await LikeStatements.of(statements, new TimeSlices());
      for (const [at, each] of statements.entries())
        expect(like.differing(each, at + 1)).toEqual(statements.slice(at + 1).filter((other) => differ(each, other)));
    }),
  );
});

test("of thousands that say different things hardly any are compared", async () => {
  const lines = Array.from(
    { length: 2000 },
    (_, at) => `Likes w${at} with v${at % 400} on u${at % 700} for t${at % 90}.`,
  );
  const statements: Statement[] = [...statementsOf("a.md", `# What my human likes\n\n${lines.join("\n")}`)];
  const like = await LikeStatements.of(statements, new TimeSlices());
  for (const [at, each] of statements.entries()) like.differing(each, at + 1);
  expect(like.compared).toBeLessThan(statements.length * 30); // of 1,000 for each
});
