import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { searchMemory } from "../../src/memory/search.ts";
import { type Hit, SCHEMA, SectionIndex } from "../../src/memory/section-index.ts";
import { sectionsOf } from "../../src/memory/sections.ts";
import { STOPWORDS, wordsOf, wordsToFind } from "../../src/memory/words.ts";
import { agentMemoryFiles } from "../../src/store/memory-files.ts";
import { temporaryHome } from "../../src/testing/index.ts";
import { dialogues } from "./dialogues.ts";

const { files, questions } = dialogues();

test("the sample is long enough to tell one search from another, and every answer is in it once", () => {
  const sections = Object.values(files).flatMap((text) => sectionsOf(text));
  const holding = questions.map(({ path, answer }) => files[path]?.split(answer).length);
  expect([questions.length, sections.length > 300, new Set(holding)]).toEqual([240, true, new Set([2])]);
});

test("of ten sections, ours hold the answer more often than ranked grep, and than words without their neighbours", async () => {
  const index = await indexed();
  const recall = (search: (question: string) => Hit[]) =>
    questions.filter(({ question, path, answer }) =>
      search(question)
        .slice(0, 10)
        .some(({ id }) => {
          const place = index.place(id);
          return place?.path === path && files[path]?.slice(place.from, place.to).includes(answer);
        }),
    ).length / questions.length;
  const figures = {
    "grep, ranked by distinct keywords": recall((question) => grep(index, question)),
    "words alone": recall((question) => index.search(wordsToFind(question), 0)),
    ours: recall((question) => index.search(wordsToFind(question))),
  };
  process.stdout.write(`recall@10 of ${questions.length} questions: ${JSON.stringify(figures)}\n`);
  // Made by rule, so only the order tells something; the floor is there to notice a loss.
  expect(figures.ours).toBeGreaterThanOrEqual(0.77);
  expect(figures.ours).toBeGreaterThan(figures["words alone"]);
  expect(figures["words alone"]).toBeGreaterThan(figures["grep, ranked by distinct keywords"]);
});

test("what the tool answers within its budget holds at least ten sections, in the same order", async () => {
  await using home = await temporaryHome();
  const dir = join(home.path, "agents", "agent-test");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, "memory", path)), { recursive: true });
    writeFileSync(join(dir, "memory", path), text);
  }
  const index = await indexed();
  for (const { question } of questions.slice(0, 20)) {
    const found = await searchMemory(agentMemoryFiles(dir), question, { tokens: 4000 });
    const expected = index.search(wordsToFind(question)).map(({ id }) => index.place(id)?.path);
    expect(found.length).toBeGreaterThanOrEqual(10);
    expect(found.map(({ path }) => path)).toEqual(expected.slice(0, found.length));
  }
});

async function indexed(): Promise<SectionIndex> {
  const database = new DatabaseSync(":memory:");
  database.exec(SCHEMA);
  const index = new SectionIndex(database);
  const listed = Object.keys(files).map((path) => ({ path, bytes: 1, stamp: "1" }));
  await index.refresh(listed, async (path) => files[path]);
  return index;
}

/** The seed's grep, with the sections that have the most of the words first. */
function grep(index: SectionIndex, question: string): Hit[] {
  const keywords = [...new Set(wordsOf(question))].filter((word) => !STOPWORDS.has(word));
  const hits = index.ids().map((id) => {
    const place = index.place(id);
    const text = place ? (files[place.path]?.slice(place.from, place.to).toLowerCase() ?? "") : "";
    return { id, score: keywords.filter((word) => text.includes(word)).length };
  });
  return hits.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score);
}
