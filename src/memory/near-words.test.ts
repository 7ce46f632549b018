import { expect, test } from "vitest";
import { nearWords, type Vocabulary } from "./near-words.ts";

const vocabularyOf = (...words: string[]): Vocabulary => ({
  isKnown: (word) => words.includes(word),
  longer: (part) => words.filter((word) => word.length > part.length && (word.startsWith(part) || word.endsWith(part))),
});

test.each([
  ["one letter less", "violn", []],
  ["one letter less in a long word", "telephne", ["telephone"]],
  ["one letter more", "telephoone", ["telephone"]],
  ["another letter", "telephome", ["telephone"]],
  ["two that changed places", "telehpone", ["telephone"]],
  ["two slips", "telehpome", []],
  ["another first letter: a word of its own", "celephone", []],
])("a slip of the keyboard: %s", (_, word, near) => {
  expect(nearWords(word, vocabularyOf("violin", "telephone"))).toEqual(near);
});

test("part of a compound, and two words written as one, come before any correction", () => {
  const words = vocabularyOf("datenbankverbindung", "verbindungen", "note book", "notebooks");
  expect(nearWords("verbindung", words)).toEqual(["datenbankverbindung", "verbindungen"]);
  expect(nearWords("notebook", words)).toEqual(["note book", "notebooks"]);
});
