import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { openStore } from "../../src/store/open-store.ts";
import { explore, type Life } from "./store-exploration.ts";
import { type Mutant, mutants, someOf, UNCHANGED } from "./store-mutants.ts";

/**
 * Explores every mutant until something catches it; one line of JSON each. A process of its own, because it runs
 * copies of the store's source: `node store-mutants-main.ts FOLDER [every how many-th]`.
 */
const [folder = "", every = "1"] = process.argv.slice(2);
const source = join(import.meta.dirname, "../../src");
/** Shallow and broad first: most bugs show in a few states of the right life, and only then deeper. */
const livesOf = (budget: number): Life[] =>
  Array.from({ length: 24 }, (_, seed) => ({
    seed,
    steps: 8,
    trouble: seed % 3 === 0 ? 1 : 4,
    budget,
    nestedEvery: 60,
  }));
const SHALLOW = livesOf(3);
const DEEP = livesOf(12);

/** Between the hunts nothing may go wrong: a mutant that no longer applies is our mistake. */
const giveUp = (error: unknown) => {
  console.error(error);
  process.exit(1);
};
let fallOver: (error: unknown) => void = giveUp;
process.on("uncaughtException", (error) => fallOver(error));

symlinkSync(join(source, "../node_modules"), join(folder, "node_modules"));
for (const [index, mutant] of [UNCHANGED, ...someOf(mutants, Number(every))].entries()) {
  const open = await build(mutant, join(folder, `mutant-${index}`));
  console.log(
    JSON.stringify({ bug: mutant.bug, ...(await hunt(open, mutant === UNCHANGED ? SHALLOW : [...SHALLOW, ...DEEP])) }),
  );
}
process.exit(0);

async function hunt(
  open: typeof openStore,
  lives: readonly Life[],
): Promise<{ caughtBy: string | null; states: number }> {
  let states = 0;
  for (const life of lives) {
    try {
      const fallen = new Promise<never>((_, reject) => {
        fallOver = reject;
      });
      states += (await Promise.race([explore(open, life), fallen])).states;
    } catch (error) {
      return { caughtBy: checkOf(error), states };
    } finally {
      fallOver = giveUp;
    }
  }
  return { caughtBy: null, states };
}

/** What a workload itself trips over counts too: a store that fails without a crash is caught the sooner. */
function checkOf(error: unknown): string {
  if (error instanceof Error && "check" in error) return String(error.check);
  return `the workload failed: ${error instanceof Error ? error.message.slice(0, 120) : String(error)}`;
}

async function build({ bug, edits }: Mutant, into: string): Promise<typeof openStore> {
  mkdirSync(into, { recursive: true });
  symlinkSync(join(source, "protocol"), join(into, "protocol"));
  cpSync(join(source, "store"), join(into, "store"), { recursive: true, filter: (name) => !name.endsWith(".test.ts") });
  for (const { file, find, replace } of edits) {
    const path = join(into, "store", file);
    const parts = readFileSync(path, "utf8").split(find);
    if (parts.length !== 2)
      throw new Error(`"${bug}" no longer applies: ${file} has its text ${parts.length - 1} times, not once.`);
    writeFileSync(path, parts.join(replace));
  }
  const module: { openStore: typeof openStore } = await import(pathToFileURL(join(into, "store/open-store.ts")).href);
  return module.openStore;
}
