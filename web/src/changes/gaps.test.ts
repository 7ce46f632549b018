import fc from "fast-check";
import { expect, test } from "vitest";
import type { FileDiff, FileHunk } from "../live/repository-api.ts";
import { endNew, endOld, firstNew, firstOld, linesOf } from "./diff-lines.ts";
import { expanded, type Gap, gapsOf, type KnownLines, wantedOf } from "./gaps.ts";

const NOTHING: KnownLines = { lines: new Map(), total: null };

/** A file of `total` lines of which some were replaced, with three lines of context, as git makes it. */
function fileWith(total: number, replaced: readonly number[]): FileDiff {
  const around = new Set(replaced.flatMap((at) => [-3, -2, -1, 0, 1, 2, 3].map((step) => at + step)));
  const shown = [...around].filter((at) => at >= 1 && at <= total).sort((a, b) => a - b);
  const hunks: FileHunk[] = [];
  for (const at of shown) {
    let hunk = hunks.at(-1);
    if (!hunk || endNew(hunk) !== at) {
      hunk = { old_start: at, old_lines: 0, new_start: at, new_lines: 0, header: `f${at}`, lines: [] };
      hunks.push(hunk);
    }
    hunk.old_lines += 1;
    hunk.new_lines += 1;
    hunk.lines.push(...(replaced.includes(at) ? [`-was ${at}`, `+line ${at}`] : [` line ${at}`]));
  }
  return { path: "a.ts", status: "modified", binary: false, insertions: 1, deletions: 1, hunks };
}

function known(from: number, to: number, total: number | null, before: KnownLines = NOTHING): KnownLines {
  const lines = new Map(before.lines);
  for (let at = from; at <= to; at++) lines.set(at, `line ${at}`);
  return { lines, total };
}

const rangesOf = (hunks: readonly FileHunk[]) =>
  hunks.map((hunk) => [firstOld(hunk), endOld(hunk) - 1, firstNew(hunk), endNew(hunk) - 1]);
const between = (gaps: readonly (Gap | null)[]) => gaps.map((gap) => gap && [gap.from, gap.to]);

test("what is between the hunks is hidden, and what is below, of which nobody knows how much it is", () => {
  const file = fileWith(100, [20, 50]);
  expect(between(gapsOf(file, file.hunks, NOTHING))).toEqual([
    [1, 16],
    [24, 46],
    [54, null],
  ]);
});

test("a file whose end is in sight has nothing hidden below, and a new one nothing at all", () => {
  const end = fileWith(52, [50]);
  expect(between(gapsOf(end, end.hunks, NOTHING))).toEqual([[1, 46], null]);
  const added: FileDiff = { ...fileWith(5, []), status: "added", hunks: end.hunks };
  expect(gapsOf(added, end.hunks, NOTHING)).toEqual([null, null]);
});

test("lines that were asked for are put where they belong, and hunks that meet become one", () => {
  const file = fileWith(100, [20, 50]);
  const some = known(24, 30, 100);
  expect(rangesOf(expanded(file.hunks, some))).toEqual([
    [17, 30, 17, 30],
    [47, 53, 47, 53],
  ]);
  const all = known(24, 46, 100, known(54, 100, 100));
  const [one, ...others] = expanded(file.hunks, all);
  expect(others).toEqual([]);
  expect(linesOf(one as FileHunk).map(({ text }) => text)).toEqual([
    ...Array.from({ length: 3 }, (_, at) => `line ${17 + at}`),
    "was 20",
    ...Array.from({ length: 30 }, (_, at) => `line ${20 + at}`),
    "was 50",
    ...Array.from({ length: 51 }, (_, at) => `line ${50 + at}`),
  ]);
  expect(between(gapsOf(file, [one as FileHunk], all))).toEqual([[1, 16], null]);
});

test("the numbers of the side before the change go on over what is unfolded", () => {
  const lines = [" a", "+b", "+c", " d", " e", " f"];
  const hunk: FileHunk = { old_start: 10, old_lines: 4, new_start: 12, new_lines: 6, header: "", lines };
  const grown = expanded([hunk], known(9, 20, 20));
  expect(rangesOf(grown)).toEqual([[7, 16, 9, 20]]);
});

test("a hunk without lines on one side keeps its place while another one is unfolded", () => {
  const bare: FileHunk = { old_start: 4, old_lines: 0, new_start: 5, new_lines: 1, header: "", lines: ["+x"] };
  const [same] = expanded([bare], known(90, 99, 99));
  expect(same).toEqual(bare);
});

test("the hunks that the server sent are never changed", () => {
  const file = fileWith(60, [20, 40]);
  const before = structuredClone(file);
  expanded(file.hunks, known(1, 60, 60));
  expect(file).toEqual(before);
});

test("asked for are the lines next to what is shown, at most a thousand", () => {
  const gap = { from: 24, to: 4000, header: "", hasBefore: true, hasAfter: true };
  expect([wantedOf(gap, "down"), wantedOf(gap, "up"), wantedOf(gap, "all")]).toEqual([
    { from: 24, to: 43 },
    { from: 3981, to: 4000 },
    { from: 24, to: 1023 },
  ]);
  const short = { ...gap, to: 30 };
  expect([wantedOf(short, "down"), wantedOf(short, "up")]).toEqual([
    { from: 24, to: 30 },
    { from: 24, to: 30 },
  ]);
});

test("whatever is expanded, in any order, each line of the file is there once or hidden", () => {
  const step = fc.tuple(fc.nat(), fc.constantFrom("down" as const, "up" as const, "all" as const));
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 300 }),
      fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 8 }),
      fc.array(step, { maxLength: 12 }),
      (total, at, steps) => {
        const file = fileWith(
          total,
          at.map((each) => Math.min(each, total)),
        );
        let lines = NOTHING;
        for (const [which, how] of steps) {
          const gaps = gapsOf(file, expanded(file.hunks, lines), lines).filter((gap) => gap !== null);
          const gap = gaps[which % Math.max(1, gaps.length)];
          if (!gap) break;
          const { from, to } = wantedOf(gap, how);
          lines = known(from, Math.min(to, total), total, lines);
        }
        const hunks = expanded(file.hunks, lines);
        const seen = hunks.flatMap(linesOf).flatMap((line) => (line.new === null ? [] : [line.new]));
        const hidden = gapsOf(file, hunks, { ...lines, total }).flatMap((gap) =>
          gap ? Array.from({ length: (gap.to ?? total) - gap.from + 1 }, (_, index) => gap.from + index) : [],
        );
        const every = Array.from({ length: total }, (_, index) => index + 1);
        expect([...seen, ...hidden].sort((a, b) => a - b)).toEqual(every);
        for (const { text, new: now, sign } of hunks.flatMap(linesOf))
          if (sign !== "-") expect(text).toBe(`line ${now}`);
      },
    ),
  );
});
