import { expect, test } from "vitest";
import { readProse, tellingSentences } from "./prose.ts";
import { termsOf, wordsOf } from "./words.ts";

test("headings, words, links and code are told apart", () => {
  const text = `---
title: ignored
---
Title
=====

One **bold** [link](a%20b.md "x") and <https://example.org/x>, not \`[code](c.md)\`.
Same paragraph.

- first item
- second [item][ref]

## Two ##

\`\`\`\`ts
# no heading, [no](link.md)
\`\`\`
\`\`\`\`

| cell | [other](d.md) |

[ref]: e.md
<h3>Three</h3>`;
  expect(readProse(text)).toEqual({
    headings: [
      { level: 1, text: "Title" },
      { level: 2, text: "Two" },
      { level: 3, text: "Three" },
    ],
    paragraphs: ["One bold link and https://example.org/x, not code. Same paragraph.", "first item", "second item"],
    cells: ["", "cell", "other", ""],
    links: ["a%20b.md", "https://example.org/x", "d.md", "e.md"],
    languages: ["ts"],
  });
});

test("the sentences quoted are those about what the text is about, in their order", () => {
  const paragraphs = [
    "A short aside about something else entirely, nobody asked.",
    "The log keeps every fact, and the log is never changed by anybody.",
    "Facts are folded: what is true now is a fold over the log.",
    "Too short.",
    "Nothing here matters to the subject in any way whatsoever.",
  ];
  const terms = termsOf(wordsOf(paragraphs.join(" ")), 100);
  expect(tellingSentences(paragraphs, terms, 2)).toEqual([paragraphs[1], paragraphs[2]]);
});

test("words are counted in any script, singular and plural as one, dull ones not at all", () => {
  expect(termsOf(wordsOf("The worker and the workers; the Worker's node. 2024"), 9)).toEqual([
    ["worker", 3],
    ["node", 1],
  ]);
  expect(termsOf(wordsOf("灯塔保护船只。灯塔很高。"), 1)).toEqual([["灯塔", 2]]);
});
