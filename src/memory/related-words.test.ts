import { expect, test } from "vitest";
import { relatedWords } from "./related-words.ts";
import { STOPWORDS } from "./search-terms.ts";
import { plainForms } from "./word-forms.ts";

test.each([
  ["instruments", "violin"],
  ["hobbies", "chess"],
  ["pet", "dog"],
  ["family", "cousin"],
  ["mum", "mother"],
  ["photo", "picture"],
])("%s may be called %s", (asked, called) => {
  expect(relatedWords(asked)).toContain(called);
});

test("a word is not related to itself, nor to one that no search looks for, and an unknown one to none", () => {
  const [pets, unknown] = [relatedWords("pets"), relatedWords("zebra")];
  expect([pets.includes("pet"), unknown]).toEqual([false, []]);
  const words = ["family", "food", "sport", "movie", "country", "job"].flatMap(relatedWords);
  expect(words.filter((word) => STOPWORDS.has(word) || plainForms(word) !== word)).toEqual([]);
});
