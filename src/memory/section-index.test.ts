import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { fused } from "./meaning.ts";
import { SCHEMA, SectionIndex } from "./section-index.ts";

test("in a very large memory the rarest words decide, and those that are everywhere are left out", async () => {
  const database = new DatabaseSync(":memory:");
  database.exec(SCHEMA);
  const index = new SectionIndex(database, { weighed: 8_000 });
  const marks: Record<number, string> = { 100: "oolong sencha", 200: "oolong", 300: "sencha", 400: "sencha" };
  const texts = Object.fromEntries(
    Array.from({ length: 90 }, (_, file) => [
      `${file}.md`,
      Array.from({ length: 100 }, (_, at) => `# S\n\nTea ${marks[file * 100 + at] ?? ""}`).join("\n"),
    ]),
  );
  const files = Object.keys(texts).map((path) => ({ path, bytes: 1, stamp: "1", changedAt: 0 }));
  await index.refresh(files, async (path) => texts[path]);
  const found = (await index.search([["tea"], ["oolong"], ["sencha"]])).map(({ id }) => index.place(id)?.path);
  // What follows them are the sections beside.
  expect([found.slice(0, 4), new Set(found)]).toEqual([
    ["1.md", "2.md", "3.md", "4.md"],
    new Set(["1.md", "2.md", "3.md", "4.md"]),
  ]);
  expect((await index.search([["tea"]])).length).toBeGreaterThanOrEqual(100);
});

test("words count four times as much as meaning", () => {
  const hits = (...ids: number[]) => ids.map((id) => ({ id, score: 1 }));
  expect(fused(hits(1, 2), hits(2, 3, 1)).map(({ id }) => id)).toEqual([1, 2, 3]);
  expect(
    fused(hits(1, 2), hits(2, ...hits(...Array(40).keys()).map(({ id }) => 100 + id), 1)).map(({ id }) => id)[0],
  ).toBe(2);
  expect(fused(hits(1, 2), [])).toEqual(hits(1, 2));
});

test("taking sections in and out, and searching for a word of all of them, lets others have their turns", async () => {
  const database = new DatabaseSync(":memory:");
  database.exec(SCHEMA);
  const index = new SectionIndex(database);
  const long = Array.from({ length: 8000 }, (_, at) => `# S\n\nTea ${at}`).join("\n");
  const [a, b] = ["a.md", "b.md"].map((path) => ({ path, bytes: 1, stamp: "1", changedAt: 0 }));
  const read = async (path: string) => (path === "a.md" ? long : "Tea");
  const turnsDuring = async (work: () => Promise<unknown>) => {
    let turns = 0;
    let next = setImmediate(function count() {
      turns += 1;
      next = setImmediate(count);
    });
    await work();
    clearImmediate(next);
    return turns;
  };
  const turns = [
    await turnsDuring(() =>
      index.refresh(
        [a, b].flatMap((file) => file ?? []),
        read,
      ),
    ),
    await turnsDuring(() => index.search([["tea"]])),
    await turnsDuring(() => index.refresh(b ? [b] : [], read)),
  ];
  expect(turns.map((each) => each > 0)).toEqual([true, true, true]);
});
