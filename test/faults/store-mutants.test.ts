import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryHome } from "../../src/testing/temporary-home.ts";
import { mutants, someOf, UNCHANGED } from "./store-mutants.ts";

/** All of them in the soak. */
const EVERY = process.env.AGIRAPH_MUTANTS === "all" ? 1 : 6;

test("every bug still applies to the source as it is", () => {
  const missed = mutants.flatMap(({ bug, edits }) =>
    edits.flatMap(({ file, find }) => {
      const times = readFileSync(join(import.meta.dirname, "../../src/store", file), "utf8").split(find).length - 1;
      return times === 1 ? [] : [`${bug}: ${file} has its text ${times} times`];
    }),
  );
  expect(missed).toEqual([]);
});

test("every bug put into the store on purpose is caught by the crash exploration", async () => {
  await using folder = await temporaryHome();
  const main = join(import.meta.dirname, "store-mutants-main.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--stack-trace-limit=0",
    main,
    folder.path,
    String(EVERY),
  ]);
  const [control, ...verdicts]: { bug: string; caughtBy: string | null }[] = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  for (const { bug, caughtBy } of verdicts) console.log(`${bug} → ${caughtBy ?? "NOT CAUGHT"}`);
  expect(control).toMatchObject({ bug: UNCHANGED.bug, caughtBy: null });
  expect(verdicts.map(({ bug }) => bug)).toEqual(someOf(mutants, EVERY).map(({ bug }) => bug));
  expect(verdicts.filter(({ caughtBy }) => caughtBy === null)).toEqual([]);
  expect(mutants.length).toBeGreaterThanOrEqual(20);
}, 600_000);
