import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonLine } from "./json-line.ts";

test("JSON for programs holds no character that steers a terminal or hides text, and is the same value", () => {
  const hostile = [
    "\u001b]0;title\u0007\u001b[2J\u009b31m\u0090q\u009c",
    "\u202eevil\u2066\u2069\u200e\u200f\u061c\ufeff\u200b",
    "\u2028\u2029\u0085\u007f\u0000",
    "\ud800 lone \udc00",
    "\u{e0041}\u{e007f}",
  ];
  for (const text of hostile) {
    const line = jsonLine({ [text]: text });
    expect(line).toMatch(/^[ -~]*\n$/);
    expect(JSON.parse(line)).toEqual({ [text]: text });
  }
  expect(jsonLine({ text: "für 東京 👍" })).toBe('{"text":"für 東京 👍"}\n');
  fc.assert(
    fc.property(fc.array(fc.nat(0xffff)), (units) => {
      const value = String.fromCharCode(...units);
      const line = jsonLine(value);
      expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
      expect(JSON.parse(line)).toBe(value);
    }),
  );
});
