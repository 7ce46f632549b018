import { join } from "node:path";
import { expect, test } from "vitest";
import { call, fail, type ScriptStep, script, startTeam } from "../../testing/index.ts";
import { resultLines } from "./result.ts";

const write = (path: string) => call("write_file", { path, content: "Blue.\n" });

/** What is printed at the end of a run, with paths from the run's folder. */
async function printedAfter(...steps: ScriptStep[]): Promise<string[]> {
  await using team = await startTeam({ goal: "Go", coordinator: script(...steps) });
  await team.outcome();
  await team.agent.idle();
  const { now, log } = team.agent;
  const lines = await resultLines(now, log.dir, 80);
  return lines.map((line) => line.replace(join(log.dir, "runs/run-1/"), ""));
}

test("a run that failed without a result prints nothing: no file of Agiraph's own is taken for one", async () => {
  const failed = fail("auth");
  expect(await printedAfter(failed)).toEqual([]);
  expect(await printedAfter(write("output/house.md"), failed)).toEqual([
    "output/house.md",
    "",
    "_output.md",
    "_plan.md",
  ]);
  expect(await printedAfter(call("finish", { summary: "Done." }))).toEqual(["Done.", "", "_output.md", "", "_plan.md"]);
});
