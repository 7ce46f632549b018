import { expect, test } from "vitest";
import { rankedSections, rarity, type Weights } from "./ranking.ts";

/** Sections 1 to 9 are of one file, those from 10 on of another. */
const filesOf = (ids: readonly number[]) => new Map(ids.filter((id) => id >= 1).map((id) => [id, id < 10 ? 1 : 2]));

const neverDue = { isDue: false, rest: async () => {} };
const ranking = (...words: Weights[]) => rankedSections(words, filesOf, neverDue);
const ids = async (...words: Weights[]) => (await ranking(...words)).map(({ id }) => id);

test("a section that has both words comes before one that has one of them, and those before the ones beside", async () => {
  const violin = new Map([
    [2, 1],
    [6, 1],
  ]);
  expect(await ids(violin, new Map([[6, 1]]))).toEqual([6, 2, 5, 7, 1, 3]);
});

test("a word that is only beside makes up for one that is missing, in part", async () => {
  const [violin, lesson] = [
    new Map([
      [2, 1],
      [8, 1],
    ]),
    new Map([[9, 1]]),
  ];
  expect((await ranking(violin, lesson)).slice(0, 3)).toEqual([
    { id: 8, score: 1.3 },
    { id: 9, score: 1.3 },
    { id: 2, score: 1 },
  ]);
});

test("what stands beside in another file does not count", async () => {
  expect(await ranking(new Map([[10, 1]]))).toEqual([
    { id: 10, score: 1 },
    { id: 11, score: 0.3, isBeside: true },
  ]);
});

test("the same word beside decides only between sections that are alike", async () => {
  const violin = new Map([
    [1, 1],
    [4, 1],
    [5, 1],
    [8, 1.1],
  ]);
  expect((await ids(violin)).slice(0, 4)).toEqual([8, 4, 5, 1]);
});

test("a word that most sections have still counts, and a rarer one counts more", async () => {
  const [everywhere, common, rare] = [100, 60, 2].map((having) => rarity(100, having));
  expect([everywhere?.theirs, common?.theirs]).toEqual([1e-6, 1e-6]);
  expect(everywhere?.ours).toBeGreaterThan(0);
  expect(common?.ours).toBeGreaterThan(10 * (everywhere?.ours ?? 1));
  expect(rare?.ours).toBeGreaterThan(4 * (common?.ours ?? 1));
});

test("a hundred are weighed, and what stands beside those", async () => {
  const tea = new Map(Array.from({ length: 300 }, (_, at) => [20 + at * 10, 1]));
  expect((await ids(tea)).length).toBe(300);
});
