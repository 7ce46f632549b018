import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { searchMemory } from "../../src/memory/search.ts";
import { sectionsOf } from "../../src/memory/sections.ts";
import { agentMemoryFiles } from "../../src/store/run/memory-files.ts";
import { temporaryHome } from "../../src/testing/index.ts";
import { dialogues } from "./dialogues.ts";
import { rankedGrep, type Search, theLine } from "./line.ts";
import { FORMS, longDialogue } from "./long-dialogue.ts";
import { type Figures, measure, ours, recallOf } from "./measure.ts";

/** Weighed together: one alone says little about a kind of question. */
const SEEDS = [1, 2, 3];
/** On these no weight was chosen; who listed the related words had read their texts: see docs/decisions/memory.md. */
const UNSEEN = [4, 5, 6, 7, 8, 9];

/** The least of each kind that words can find at all: what is asked in other words shares none with its answer. */
const FLOOR = { near: 0.87, dated: 0.87, several: 0.87 };

function below(floor: Readonly<Record<string, number>>, recall: Readonly<Record<string, number>>) {
  return Object.entries(floor).filter(([kind, least]) => !((recall[kind] ?? 0) >= least));
}

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
    expect(below(FLOOR, own ?? {})).toEqual([]);
  }, 600_000);

  test("in dialogues that no weight was chosen on, ours finds .87 of what is said once and of what is said in several places", async () => {
    const figures: Figures = {};
    for (const dialogue of UNSEEN.map(longDialogue))
      for (const written of Object.values(FORMS)) await measure(dialogue, await ours(written(dialogue)), figures);
    const recall = recallOf(figures);
    process.stdout.write(`${JSON.stringify(recall)}\n`);
    expect(below(FLOOR, recall)).toEqual([]);
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
