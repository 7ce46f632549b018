import { expect, test } from "vitest";
import { visible, visibleLines } from "./visible.ts";

test.each([
  ["report\u202Efdp.exe", "report⟨U+202E⟩fdp.exe"],
  ["Ali\u200Bce", "Ali⟨U+200B⟩ce"],
  ["Ali\u200Cce", "Ali⟨U+200C⟩ce"],
  ["Alice\u200D", "Alice⟨U+200D⟩"],
  ["\u2066Bob\u2069", "⟨U+2066⟩Bob⟨U+2069⟩"],
  ["a\nb\tc\x1b[31m", "a⟨U+000A⟩b⟨U+0009⟩c⟨U+001B⟩[31m"],
  ["Bob\u{E0041}", "Bob⟨U+E0041⟩"],
  ["\u3164", "⟨U+3164⟩"],
])("what hides in %j is written out", (name, shown) => {
  expect(visible(name)).toBe(shown);
});

test.each(["Alice", "Zoë O’Neill", "👩‍🔬 lab", "❤️", "می\u200Cخواهم", "क्\u200Dष", "שלום", "日本語", "é"])(
  "%j stays as it is",
  (name) => {
    expect(visible(name)).toBe(name);
  },
);

test("marks that pile up on a letter are few, and a text keeps its lines", () => {
  expect(visible(`Z${"\u0301".repeat(50)}o`)).toBe(`Z${"\u0301".repeat(4)}o`);
  expect(visibleLines("if (a\u202E) {\n\treturn\r\n}")).toBe("if (a⟨U+202E⟩) {\n\treturn\r\n}");
});
