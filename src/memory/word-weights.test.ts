import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { termsToFind } from "./search-terms.ts";
import { SCHEMA, SectionIndex } from "./section-index.ts";

const NOTES = {
  "violin.md": "Mia took her violin to the lake.",
  "list.md": "For sale: a guitar, a piano, a flute, a drum, a harp, a banjo and an organ.",
  "asked.md": "The instruments of the school are old.",
  "other.md": "The train was late again.",
};

async function firstOf(question: string, files: Readonly<Record<string, string>>, weighed?: number): Promise<string[]> {
  const database = new DatabaseSync(":memory:");
  database.exec(SCHEMA);
  const index = new SectionIndex(database, weighed === undefined ? {} : { weighed });
  const listed = Object.keys(files).map((path) => ({ path, bytes: 1, stamp: "1", changedAt: 0 }));
  await index.refresh(listed, async (path) => files[path]);
  return (await index.search(termsToFind(question))).map(({ id }) => index.place(id)?.path ?? "");
}

test("what is asked for is found where it is only named, after what has the words of the question", async () => {
  expect(await firstOf("Which instruments does Mia play?", NOTES)).toEqual(["violin.md", "asked.md", "list.md"]);
  expect(await firstOf("Which instruments are there?", NOTES)).toEqual(["asked.md", "violin.md", "list.md"]);
});

test("a long list of related words counts as one of them", async () => {
  const lists = { "one.md": "A violin.", "ten.md": `${NOTES["list.md"]} Also a cello, a trumpet and a trombone.` };
  const filler = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`${at}.md`, "The train was late again."]));
  const files = { ...filler, ...lists, "asked.md": "Which instruments, nobody knows." };
  expect((await firstOf("Instruments?", files))[0]).toBe("asked.md");
});

test("a word that was asked for does not count again as a related one", async () => {
  const filler = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`${at}.md`, "The train was late again."]));
  const files = { ...filler, "one.md": "Mia sold a guitar to a friend.", "two.md": "Mia sold old instruments." };
  expect((await firstOf("Was a guitar among the instruments?", files))[0]).toBe("two.md");
});

test("in a very large memory nothing is searched for that nobody asked for", async () => {
  expect(await firstOf("Which instruments are there?", NOTES, 3)).toEqual(["asked.md"]);
});

test("a related word that thousands of sections have is not taken", async () => {
  const often = Array.from({ length: 2_001 }, () => "# S\n\nA guitar.").join("\n\n");
  expect((await firstOf("Instruments?", { "often.md": often, "rare.md": "A violin." })).slice(0, 2)).toEqual([
    "rare.md",
  ]);
});
