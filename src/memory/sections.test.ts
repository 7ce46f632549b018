import { expect, test } from "vitest";
import { sectionsOf } from "./sections.ts";

const shown = (markdown: string) =>
  sectionsOf(markdown).map(({ headings, start, end }) => [headings.join(" > "), markdown.slice(start, end).trim()]);

test("a section goes from one heading to the next and knows the headings above it", () => {
  const markdown = `Before.\n\n# Chips\n\nAll of them.\n\n## Heat\n\n### In summer\n\nHot.\n\n## Price\n\nHigh.\n`;
  expect(shown(markdown)).toEqual([
    ["", "Before."],
    ["Chips", "# Chips\n\nAll of them."],
    ["Chips > Heat > In summer", "### In summer\n\nHot."],
    ["Chips > Price", "## Price\n\nHigh."],
  ]);
});

test("entries of a log stand together up to about 1 KB, each day and each topic by itself", () => {
  const entry = (time: string, words: string) => `## ${time}\n\n${words}\n\n`;
  const log = `${entry("09:00", "Ann: Tea?")}${entry("9:01 pm", "Bob: Yes.")}${entry("10:00", "long ".repeat(199))}${entry("Plan", "Sleep.")}${entry("11:00", "Ann: Bye.")}`;
  expect(shown(log).map(([headings, text]) => [headings, text?.slice(0, 20)])).toEqual([
    ["09:00", "## 09:00\n\nAnn: Tea?\n"],
    ["10:00", "## 10:00\n\nlong long "],
    ["Plan", "## Plan\n\nSleep."],
    ["11:00", "## 11:00\n\nAnn: Bye."],
  ]);
});

test("what looks like a heading inside a fence is none", () => {
  const markdown = "# Run it\n\n```sh\n# install\nnpm ci\n```\n";
  expect(shown(markdown)).toEqual([["Run it", markdown.trim()]]);
});

test("what is long is cut at paragraphs, else lines, else sentences, and nothing is lost", () => {
  const paragraphs = Array.from({ length: 8 }, (_, i) => `Paragraph ${i} ${"word ".repeat(60)}`).join("\n\n");
  const lines = Array.from({ length: 60 }, (_, i) => `Anna: line ${i} ${"word ".repeat(8)}`).join("\n");
  const sentences = Array.from({ length: 60 }, (_, i) => `Sentence ${i} ${"word ".repeat(8)}end.`).join(" ");
  for (const [text, begins] of [
    [paragraphs, /^Paragraph/],
    [lines, /^Anna/],
    [sentences, /^Sentence/],
  ] as const) {
    const sections = sectionsOf(`# Long\n\n${text}\n`);
    const parts = sections.map(({ start, end }) => `# Long\n\n${text}\n`.slice(start, end));
    expect(parts.join("")).toBe(`# Long\n\n${text}\n`);
    expect(parts.slice(1).every((part) => begins.test(part) && part.length <= 1200)).toBe(true);
    expect(sections.every(({ headings }) => headings[0] === "Long")).toBe(true);
  }
});

test("a text without any seam is cut all the same, never inside a character", () => {
  const parts = sectionsOf("😀".repeat(1501)).map(({ start, end }) => "😀".repeat(1501).slice(start, end));
  expect([parts.join(""), parts.every((part) => part.isWellFormed())]).toEqual(["😀".repeat(1501), true]);
});

test.each([" ", "#"])("a heading with a long row of %j is searched once", (sign) => {
  const title = `a${sign.repeat(300_000)}b`;
  expect(sectionsOf(`# ${title} ##\n\nWords.\n`)[0]?.headings).toEqual([title]);
});
