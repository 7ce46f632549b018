import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { piecesOf } from "./chunks.ts";
import { Markdown } from "./markdown.tsx";

const shown = (text: string) => renderToStaticMarkup(createElement(Markdown, { text }));
const tagsIn = (html: string) => [...new Set([...html.matchAll(/<([a-z0-9]+)/g)].map(([, tag]) => tag))];
const addressesIn = (html: string) => [...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href);

const SCHEMES = [
  "javascript:alert(1)",
  "JaVaScRiPt:alert(1)",
  "java\tscript:alert(1)",
  "\u0001javascript:alert(1)",
  "javascript&colon;alert(1)",
  "&#106;avascript:alert(1)",
  "javascript\\:alert(1)",
  "vbscript:msgbox(1)",
  "data:text/html,<script>alert(1)</script>",
  "data:image/svg+xml;base64,PHN2Zz4=",
  "blob:https://evil.example/1",
  "file:///etc/passwd",
  "view-source:javascript:alert(1)",
  "//evil.example/x",
  "/agents",
  "\\\\evil.example",
];

test("whatever an address is written like, a link leads to a page or to mail, or is no link", () => {
  const forms = SCHEMES.flatMap((scheme) => [
    `[a](${scheme})`,
    `[a](<${scheme}>)`,
    `[a](${scheme} "title")`,
    `![a](${scheme})`,
    `<${scheme}>`,
    `[a][1]\n\n[1]: ${scheme}`,
    `[![a](${scheme})](${scheme})`,
    `<a href="${scheme}">a</a>`,
    `<svg><a xlink:href="${scheme}">a</a></svg>`,
  ]);
  for (const form of forms) {
    const html = shown(form);
    expect([form, addressesIn(html).filter((href) => !/^(?:https?|mailto):/.test(href ?? ""))]).toEqual([form, []]);
  }
  expect(addressesIn(shown("[a](https://a.example) <https://b.example> www.c.example d@e.example"))).toEqual([
    "https://a.example/",
    "https://b.example/",
    "http://www.c.example/",
    "mailto:d@e.example",
  ]);
});

test("an entity is its character in a sentence, and stays as it is written in code", () => {
  expect(shown("A &amp; B &lt;c&gt; &amp;lt; 3&nbsp;km&mdash;&#8364;&#x20AC; &nothing;")).toContain(
    "A &amp; B &lt;c&gt; &amp;lt; 3\u00a0km—€€ &amp;nothing;",
  );
  expect(shown("Write `&lt;` for `<`, not `&amp;lt;`.")).toContain(
    "Write <code>&amp;lt;</code> for <code>&lt;</code>, not <code>&amp;amp;lt;</code>.",
  );
});

test("a column stands where its author wants it", () => {
  const html = shown("| a | b | c |\n|---|--:|:-:|\n| 1 | 2 | 3 |");
  expect(html).toContain('<td>1</td><td class="text-right">2</td><td class="text-center">3</td>');
  expect(html).toContain('<th class="text-right">b</th>');
});

test("markup is text, and a picture is a link", () => {
  const attacks = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a <b onclick=alert(1)>b</b> <style>*{display:none}</style>",
    '<iframe srcdoc="<script>alert(1)</script>">',
    "<svg onload=alert(1)>",
    "<!-- --><math><mtext><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "`<script>`\n\n```html\n<script>alert(1)</script>\n```",
    "| <script> | <img src=x> |\n|---|---|\n| <b> | ![x](https://evil.example/x.png) |",
    "- [x] <img src=x>\n  > <script>",
    '![a](https://evil.example/a.png "b") [![c](https://evil.example/c.png)](https://evil.example)',
    '<details open ontoggle=alert(1)><form action="https://evil.example"><input name=q><button>',
    '<meta http-equiv="refresh" content="0;url=https://evil.example">',
    '<base href="https://evil.example/">',
  ];
  const allowed = "div p br a span strong em del code pre ul ol li blockquote table thead tbody tr th td h3 h4 h5 hr";
  for (const attack of attacks) {
    const html = shown(attack);
    expect([attack, tagsIn(html).filter((tag) => !allowed.split(" ").includes(tag ?? ""))]).toEqual([attack, []]);
    expect([attack, / (?:on\w+|style|src|srcdoc)=/.test(html.replace(/>[^<]*</g, "><"))]).toEqual([attack, false]);
  }
});

test("what is nested without end, or made to be slow, is shown all the same", () => {
  const length = 30_000;
  const many = (part: string) => part.repeat(Math.ceil(length / part.length));
  const slow = [">", "> ", "- ", "1. ", "+ ", "> - ", "*a", "a_", "__a", "**_", "[", "[a](", "![", "`", "<", "~~a"];
  for (const part of slow) {
    const html = shown(`Begin ${part}\n\n${many(part)}`);
    expect([part, html.includes("Begin"), html.includes("more character")]).toEqual([part, true, true]);
    expect([part, levelsOf(html).every((level) => level < 120)]).toEqual([part, true]);
  }
  const quotes = shown(many(">"));
  expect([quotes.includes("<blockquote>"), Math.max(...levelsOf(quotes)) < 20]).toEqual([true, true]);
  expect(shown(`a${" ".repeat(length)}b`)).toContain("a");
  expect(shown(`${"| a ".repeat(500)}|\n${"|---".repeat(500)}|\n${"| b ".repeat(500)}|`).split("<td>")).toHaveLength(
    501,
  );
});

function levelsOf(html: string): number[] {
  let level = 0;
  return [...html.matchAll(/<(\/?)(?:blockquote|ul|ol|li|em|strong|del|p)\b/g)].map(([, end]) => {
    level += end ? -1 : 1;
    return level;
  });
}

test("a long text is cut between its blocks, nothing is lost, and code and short names of links go on over a cut", () => {
  const paragraphs = Array.from({ length: 400 }, (_, n) => `Paragraph ${n}. ${"word ".repeat(20)}\n\n`).join("");
  for (const text of [paragraphs, "x".repeat(50_000), "😀".repeat(12_000), many20k("- a\n"), ""]) {
    expect(piecesOf(text).join("")).toBe(text);
    for (const piece of piecesOf(text)) expect(piece.isWellFormed()).toBe(true);
  }
  expect(piecesOf(paragraphs).every((piece) => piece.startsWith("Paragraph") && piece.endsWith("\n\n"))).toBe(true);
  const code = piecesOf(`\`\`\`ts\n${"const a = **1**;\n\n".repeat(800)}\`\`\`\n\nAfter **it**.`);
  expect(code.length).toBeGreaterThan(1);
  for (const piece of code) expect(piece.startsWith("```ts\n")).toBe(true);
  expect(shown(code.at(-1) ?? "")).toContain("<strong>it</strong>");
  expect(shown(`See [the report][r].\n\n${paragraphs}\n[r]: https://a.example/r`)).toContain(
    'href="https://a.example/r"',
  );
});

test("what only looks like the mark of a block of code neither opens nor ends one over a cut", () => {
  const long = "A line of words.\n\n".repeat(1000);
  const within = `\`\`\`code\`\`\` in a line\n\n${long}`;
  expect(piecesOf(within).join("")).toBe(within);
  const quoted = piecesOf(`\`\`\`md\n\`\`\`ts\n${long}\`\`\`\n\n${long}`);
  expect(quoted.map((piece) => piece.startsWith("```md\n"))).toEqual([true, true, true, false, false]);
});

test("what links are short for is shown nowhere, neither in code that goes on nor where it is none", () => {
  const code = `\`\`\`\n${"let a = 1;\n".repeat(1200)}\`\`\``;
  const text = `See [it][r].\n\n${code}\n\n[r]: https://a.example/r\n\n[note]: see the manual for more`;
  const html = shown(text);
  expect([piecesOf(text).length > 1, addressesIn(html)]).toEqual([true, ["https://a.example/r"]]);
  expect([html.split("[r]:").length, html.split("see the manual").length]).toEqual([1, 2]);
});

test("of more than is shown at once, the page says how much", () => {
  expect(shown("word ".repeat(10_000))).toMatch(/\d+ more characters: show more/);
  expect(shown("word ".repeat(1000))).not.toContain("more character");
});

function many20k(part: string): string {
  return part.repeat(20_000 / part.length);
}
