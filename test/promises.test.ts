import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

/**
 * A promise is defined at the head of its module: ` * JOURNAL-3. A commit that failed is taken back …`. Anywhere else its
 * code refers to that line.
 */
const DEFINITION = /^ *\* (?<code>[A-Z]+(?:-[A-Z]+)*-\d+[a-z]?)\. +\S/gm;
const NUMBER_ALONE = /^ *\* [A-Z]{1,3}\d+[a-z]?\. +\S.*/gm;
const CODE = /(?<![\w-])[A-Z]+(?:-[A-Z]+)*-\d+[a-z]?(?![\w-])/g;

const ROOT = resolve(import.meta.dirname, "..");
const files = ["src", "web/src", "test", "bench", "docs"]
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  )
  .filter((name) => /\.(ts|tsx|mjs|md)$/.test(name) && !name.endsWith("promises.test.ts"))
  .map((name) => ({ name, text: readFileSync(join(ROOT, name), "utf8") }));
const definitions = files.flatMap(({ name, text }) =>
  [...text.matchAll(DEFINITION)].map(({ groups }) => ({ code: groups?.code ?? "", name })),
);

test("a promise has a code of its own: none is defined twice", () => {
  const twice = definitions.filter(({ code }, at) => definitions.findIndex((each) => each.code === code) !== at);
  expect(twice).toEqual([]);
});

test("the word of a code belongs to one folder, so that one finds the promise by it", () => {
  const foldersOf = Map.groupBy(definitions, ({ code }) => wordOf(code));
  const spread = [...foldersOf].filter(([, all]) => new Set(all.map(({ name }) => resolve(name, ".."))).size > 1);
  expect(spread.map(([word]) => word)).toEqual([]);
});

test("a code is a word and a number, not a letter and a number that ten modules have", () => {
  const alone = files.flatMap(({ name, text }) => (text.match(NUMBER_ALONE) ?? []).map((line) => `${name}:${line}`));
  expect(alone).toEqual([]);
});

test("whatever refers to a promise refers to one that is there", () => {
  const known = new Set(definitions.map(({ code }) => code));
  const words = new Set(definitions.map(({ code }) => wordOf(code)));
  const dangling = files.flatMap(({ name, text }) =>
    (text.match(CODE) ?? [])
      .filter((code) => words.has(wordOf(code)) && !known.has(code))
      .map((code) => `${name}: ${code}`),
  );
  expect(dangling).toEqual([]);
});

function wordOf(code: string): string {
  return code.replace(/-\d+[a-z]?$/, "");
}
