import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { searchMemory } from "../../src/memory/search.ts";
import { SCHEMA, SectionIndex } from "../../src/memory/section-index.ts";
import { sectionsOf } from "../../src/memory/sections.ts";
import { termsToFind } from "../../src/memory/words.ts";
import { agentMemoryFiles } from "../../src/store/run/memory-files.ts";
import { temporaryHome } from "../../src/testing/index.ts";
import { dialogues } from "./dialogues.ts";
import { rankedGrep, type Search, theLine } from "./line.ts";
import { FORMS, type Kind, type LongDialogue, longDialogue } from "./long-dialogue.ts";

/** Weighed together: one alone says little about a kind of question. */
const SEEDS = [1, 2, 3];

describe("recall@10 of long dialogues, however they are written down", () => {
  test("ours finds at least as much as the line for every kind of question, and more in every form", async () => {
    const kinds: Record<string, Figures> = { grep: {}, line: {}, ours: {} };
    const forms: Record<string, Record<string, number | undefined>> = {};
    for (const [form, written] of Object.entries(FORMS)) {
      const inForm: Record<string, Figures> = { grep: {}, line: {}, ours: {} };
      for (const dialogue of SEEDS.map(longDialogue)) {
        const files = written(dialogue);
        const searches = { grep: rankedGrep(files), line: theLine(files), ours: await ours(files) };
        for (const [name, search] of Object.entries(searches)) {
          await measure(dialogue, search, inForm[name] ?? {}, kinds[name] ?? {});
        }
      }
      forms[form] = Object.fromEntries(Object.entries(inForm).map(([name, each]) => [name, recallOf(each).all]));
    }
    const [grep, line, own] = [kinds.grep, kinds.line, kinds.ours].map((each) => recallOf(each ?? {}));
    process.stdout.write(`${JSON.stringify({ forms, kinds: { grep, line, ours: own } }, null, 1)}\n`);
    // Half a hundredth is two or three questions of a kind.
    const worse = Object.entries(line ?? {}).filter(([kind, recall]) => (own?.[kind] ?? 0) < recall - 0.005);
    const notBetter = Object.entries(forms).filter(([, each]) => (each.ours ?? 0) < (each.line ?? 1) + 0.01);
    expect({ worse, notBetter }).toEqual({ worse: [], notBetter: [] });
    expect(line?.all).toBeGreaterThan(grep?.all ?? 1);
    // What words can find at all; the real dialogues that this stands for are not in the repository.
    const low = Object.entries(own ?? {}).filter(
      ([kind, recall]) => !/^(all|other words)$/.test(kind) && recall < 0.87,
    );
    expect(low).toEqual([]);
  }, 600_000);
});

describe("dialogues in which who answers does not name the place", () => {
  const { files, questions } = dialogues();

  test("ours holds the answer among ten sections more often than the line, and the line more often than grep", async () => {
    const recall = async (search: Search) => {
      let found = 0;
      for (const { question, path, answer } of questions) {
        const parts = (await search(question)).slice(0, 10);
        if (parts.some((part) => part.path === path && part.text.includes(answer))) found += 1;
      }
      return found / questions.length;
    };
    const [grep, line, own] = [rankedGrep(files), theLine(files), await ours(files)].map(recall);
    const figures = { grep: await grep, line: await line, ours: await own };
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    // The floor is there to notice a loss: how hard the sample is was our choice.
    expect(figures.ours).toBeGreaterThanOrEqual(0.81);
    expect(figures.ours).toBeGreaterThan(figures.line ?? 1);
    expect(figures.line).toBeGreaterThan(figures.grep ?? 1);
  });

  test("what the tool answers within its budget holds at least ten sections, in the same order", async () => {
    await using home = await temporaryHome();
    const dir = join(home.path, "agents", "agent-test");
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(dir, "memory", path)), { recursive: true });
      writeFileSync(join(dir, "memory", path), text);
    }
    const search = await ours(files);
    for (const { question } of questions.slice(0, 20)) {
      const found = await searchMemory(agentMemoryFiles(dir), question, { timeZone: "UTC", tokens: 4000 });
      expect(found.length).toBeGreaterThanOrEqual(10);
      expect(found.map(({ path }) => path)).toEqual(
        (await search(question)).map(({ path }) => path).slice(0, found.length),
      );
    }
  });
});

test("a memory that is too large to be weighed whole finds as much as if it were", async () => {
  const { files, questions } = dialogues();
  const noise = Object.fromEntries(
    longDialogue(11).days.map(({ date, turns }) => [
      `noise/${date}.md`,
      turns.map(({ speaker, words }) => `## ${speaker}\n\n${words}`).join("\n\n"),
    ]),
  );
  const all = { ...files, ...noise };
  const recall = async (weighed: number) => {
    const search = await ours(all, weighed);
    let found = 0;
    for (const { question, path, answer } of questions) {
      const parts = (await search(question)).slice(0, 10);
      if (parts.some((part) => part.path === path && part.text.includes(answer))) found += 1;
    }
    return found / questions.length;
  };
  // As 30,000 of 62,000 sections: the words of a question are in fewer of them than there are.
  const sections = Object.values(all).flatMap(sectionsOf).length;
  const [capped, uncapped] = [await recall(Math.round(sections / 2)), await recall(Number.POSITIVE_INFINITY)];
  process.stdout.write(`${JSON.stringify({ sections, capped, uncapped })}\n`);
  expect(capped).toBeGreaterThanOrEqual(uncapped - 0.005);
}, 60_000);

type Figures = Partial<Record<Kind | "all", { found: number; asked: number }>>;

async function measure({ days, questions }: LongDialogue, search: Search, ...all: Figures[]): Promise<void> {
  const said = new Map(days.flatMap(({ date, turns }) => turns.map(({ id, words }) => [id, { date, words }])));
  for (const { kind, question, evidence } of questions) {
    const parts = (await search(question)).slice(0, 10);
    const found = evidence.filter((id) => {
      const { date = "", words = "" } = said.get(id) ?? {};
      // What is said on several days counts only on its own.
      return parts.some(({ path, text }) => text.includes(words) && (path === "talks.md" || path.startsWith(date)));
    });
    for (const figures of all)
      for (const name of [kind, "all"] as const) {
        const { found: before, asked } = figures[name] ?? { found: 0, asked: 0 };
        figures[name] = { found: before + found.length / evidence.length, asked: asked + 1 };
      }
  }
}

function recallOf(figures: Figures): Record<string, number> {
  const entries = Object.entries(figures).map(([kind, { found, asked }]) => [kind, +(found / asked).toFixed(3)]);
  return Object.fromEntries(entries);
}

async function ours(files: Readonly<Record<string, string>>, weighed?: number): Promise<Search> {
  const database = new DatabaseSync(":memory:");
  database.exec(SCHEMA);
  const index = new SectionIndex(database, weighed === undefined ? {} : { weighed });
  const listed = Object.keys(files).map((path) => ({ path, bytes: 1, stamp: "1", changedAt: 0 }));
  await index.refresh(listed, async (path) => files[path]);
  return async (question) =>
    (await index.search(termsToFind(question))).flatMap(({ id }) => {
      const place = index.place(id);
      return place ? { path: place.path, text: files[place.path]?.slice(place.from, place.to) ?? "" } : [];
    });
}
