import fc from "fast-check";
import { expect, test } from "vitest";
import { linePieces } from "./line-pieces.ts";
import { wordChange } from "./word-change.ts";

const changed = (text: string, other: string) => {
  const span = wordChange(text, other);
  return span && text.slice(span.from, span.to);
};

test("of a line that was changed, the words that differ are told from the rest", () => {
  expect(changed("const total = price * 2;", "const total = price * 3;")).toBe("2");
  expect(changed("const total = price;", "const total = prices;")).toBe("price");
  expect(changed("call(one, two)", "call(one)")).toBe(", two");
  expect(changed("call(one)", "call(one, two)")).toBeNull();
  expect(changed("say 👩 now", "say 👨 now")).toBe("👩");
});

test("lines that share next to nothing, or everything, are left as they are", () => {
  expect(changed("import a from 'a';", "}")).toBeNull();
  expect(changed("same", "same")).toBeNull();
  expect(changed("", "")).toBeNull();
});

test("whatever two lines say, the pieces of a line are the line", () => {
  const token = fc.record({ content: fc.string(), light: fc.constant("#111"), dark: fc.constant("#eee") });
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.array(token), (text, other, tokens) => {
      const pieces = linePieces(text, tokens, wordChange(text, other));
      expect(pieces.map((piece) => piece.text).join("")).toBe(text);
    }),
  );
});

test("colours that cannot be read on green and red are made stronger; others of the text are not trusted", () => {
  const tokens = [
    { content: "// a", light: "#6E7781", dark: "#8B949E" },
    { content: " b", light: "currentColor", dark: "currentColor" },
  ];
  expect(linePieces("// a b", tokens, { from: 3, to: 4 })).toEqual([
    { text: "// ", colour: "light-dark(#57606a, #a5adb6)", isChanged: false },
    { text: "a", colour: "light-dark(#57606a, #a5adb6)", isChanged: true },
    { text: " b", colour: null, isChanged: false },
  ]);
  expect(linePieces("other text", tokens, null)).toEqual([{ text: "other text", colour: null, isChanged: false }]);
});
