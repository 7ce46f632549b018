import { expect, test } from "vitest";
import { passage } from "./passage.ts";

test("what was found reads as words: without its own heading, and without marks", () => {
  const text = "## Chips `A`\n\nA and **B** are compared.\n\n### Power\n- 12 W\n# no title of it";
  expect(passage({ headings: ["Notes", "Chips `A`"], text })).toBe("A and B are compared. Power - 12 W no title of it");
  expect(passage({ headings: [], text: "#hash is no heading" })).toBe("#hash is no heading");
});
