import { expect, test } from "vitest";
import { noteOf } from "./file-note.ts";

const note = (text: string, path = "project/docs/a.md") =>
  noteOf({ path, bytes: text.length }, { text, lines: 1, whole: true, next: undefined }, (target) =>
    target.startsWith("project/docs/") ? target === "project/docs/b c.md" : undefined,
  );

test("the title is the first heading or the first words, and code is not taken for text", () => {
  expect(note("```\n# no title\n```\n\n## The *real* [title](b%20c.md) ##").title).toBe("The real title ##");
  expect(note("#!/bin/sh\n# Builds it all", "project/build.sh").title).toBe("Builds it all");
  expect(note("…").title).toBe("(no words)");
});

test("a link is broken where its target is known not to be there", () => {
  const text = "[a](b%20c.md) [b](gone.md#x) `[c](code.md)` [d](https://example.org/x) [e](../beyond.md) [f](#here)";
  expect(note(text).broken).toEqual(["gone.md#x"]);
});

test("the first whole sentence is quoted, words are counted in any script, and TODO marks are found", () => {
  const text = "Short.\n\nThis sentence is long enough to be worth a quote. TODO: 灯塔 höher";
  expect(note(text)).toMatchObject({
    quote: "This sentence is long enough to be worth a quote.",
    words: 14,
    todos: 1,
  });
});
