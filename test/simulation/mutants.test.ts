import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryHome } from "../../src/testing/temporary-home.ts";
import { type Mutant, mutants, UNCHANGED } from "./mutants.ts";

const ROOT = join(import.meta.dirname, "../..");
const SEEDS = 600;
/** All of them take ten minutes: CI hunts some, `npm run soak` all. That each still applies is seen every time. */
const isAll = process.env.AGIRAPH_MUTANTS === "all";
const hunted = isAll ? mutants : mutants.filter((_, at) => at % 16 === 0);
/** Without a bug. teams.test.ts plays more of the same seeds; here they show that a copy of the source works. */
const CONTROL = isAll ? 60 : 7;

test("every bug still applies to the source as it is", () => {
  const missed = mutants.flatMap(({ bug, edits }) =>
    edits.flatMap(({ file, find }) => {
      const times = readFileSync(join(ROOT, "src", file), "utf8").split(find).length - 1;
      return times === 1 ? [] : [`${bug}: ${file} has its text ${times} times`];
    }),
  );
  expect(missed).toEqual([]);
});

test("every bug put into the team on purpose is caught by the simulation", { timeout: 600_000 }, async () => {
  await using folder = await temporaryHome();
  symlinkSync(join(ROOT, "node_modules"), join(folder.path, "node_modules"));
  const caught: Record<string, string | null> = {};
  for (const [index, mutant] of [UNCHANGED, ...hunted].entries()) {
    const copy = build(mutant, join(folder.path, `mutant-${index}`));
    caught[mutant.bug] = await hunt(copy, mutant.from ?? 1, mutant === UNCHANGED ? CONTROL : SEEDS);
    console.log(`${mutant.bug} → ${caught[mutant.bug] ?? "NOT CAUGHT"}`);
  }
  expect(caught[UNCHANGED.bug]).toBe(null);
  expect(hunted.filter(({ bug }) => caught[bug] === null).map(({ bug }) => bug)).toEqual([]);
});

function build({ bug, edits }: Mutant, into: string): string {
  mkdirSync(into);
  cpSync(join(ROOT, "src"), join(into, "src"), { recursive: true });
  cpSync(import.meta.dirname, join(into, "test/simulation"), { recursive: true });
  for (const { file, find, replace } of edits) {
    const path = join(into, "src", file);
    const parts = readFileSync(path, "utf8").split(find);
    if (parts.length !== 2)
      throw new Error(`"${bug}" no longer applies: ${file} has its text ${parts.length - 1} times, not once.`);
    writeFileSync(path, parts.join(replace));
  }
  return join(into, "test/simulation/main.ts");
}

/** What the first seed that broke something says, and which one it was. */
async function hunt(main: string, from: number, seeds: number): Promise<string | null> {
  const args = ["--stack-trace-limit=0", main, String(from), String(seeds), "7", "--until-broken"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 });
  const first = JSON.parse(stdout.split("\n", 1)[0] ?? "{}");
  return "seed" in first ? `seed ${first.seed}, ${first.problems[0].slice(0, 120)}` : null;
}
