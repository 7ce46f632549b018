import { expect, test } from "vitest";
import { SpokenLines } from "./spoken-lines.ts";

test("words are given back line by line, however they were cut into crumbs", () => {
  const speech = new SpokenLines();
  const heard = ["I wi", "ll look", ".\nThen wr", "ite", ".\n\n- a\n", "rest"].flatMap((crumb) =>
    speech.hear("ann", crumb),
  );
  expect([...heard, ...speech.pause("ann")]).toEqual(["I will look.", "Then write.", "- a", "rest"]);
});

test("a long paragraph is given back sentence by sentence, while it is still being said", () => {
  const first = "The first sentence is long enough that nobody would want to wait for the end of its paragraph.";
  const speech = new SpokenLines();
  expect(speech.hear("ann", `Short. ${first} And`)).toEqual([`Short. ${first}`]);
  expect(speech.unfinished("ann")).toBe("And");
});

test("speakers do not interrupt each other", () => {
  const speech = new SpokenLines();
  expect([speech.hear("ann", "one "), speech.hear("bob", "two\n"), speech.hear("ann", "three\n")]).toEqual([
    [],
    ["two"],
    ["one three"],
  ]);
});

test("somebody who never ends a sentence is heard all the same", () => {
  const speech = new SpokenLines();
  const words = "word ".repeat(500);
  const heard = speech.hear("ann", words);
  expect(heard.length).toBe(1);
  expect([...heard, ...speech.pause("ann")].join(" ").split(/\s+/).filter(Boolean).length).toBe(500);
});
