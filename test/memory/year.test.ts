import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { termsToFind } from "../../src/memory/search-terms.ts";
import { SCHEMA, SectionIndex } from "../../src/memory/section-index.ts";
import { yearOf } from "./year.ts";

/** The last three are those of 24 with which the fewest newest statements come first: see docs/decisions/memory.md. */
const SEEDS = [1, 2, 3, 9, 10, 13];

test("of a fact that changed over a year, the newest comes first for at least 45 of 60", async () => {
  const figures = [];
  for (const seed of SEEDS) {
    const { files, facts } = yearOf(seed);
    const database = new DatabaseSync(":memory:");
    database.exec(SCHEMA);
    const index = new SectionIndex(database);
    await index.refresh(
      Object.keys(files).map((path) => ({ path, bytes: 1, stamp: "1", changedAt: 0 })),
      async (path) => files[path],
    );
    let [newest, oldest, found] = [0, 0, 0];
    for (const { question, said } of facts) {
      const texts = (await index.search(termsToFind(question))).map(({ id }) => {
        const place = index.place(id);
        return files[place?.path ?? ""]?.slice(place?.from, place?.to) ?? "";
      });
      const ranks = said
        .map((words) => texts.findIndex((text) => text.includes(words)))
        .map((at) => (at < 0 ? 999 : at));
      const best = Math.min(...ranks);
      if (ranks.at(-1) === best) newest += 1;
      else if (ranks[0] === best) oldest += 1;
      if ((ranks.at(-1) ?? 999) < 10) found += 1;
    }
    figures.push({ seed, newest, oldest, found, of: facts.length });
  }
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  for (const { newest } of figures) expect(newest).toBeGreaterThanOrEqual(45);
});
