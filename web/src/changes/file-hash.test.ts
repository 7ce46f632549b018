import { expect, test } from "vitest";
import { hashOf, pathInHash } from "./file-hash.ts";

test("an address leads to a file, whatever it is called", () => {
  for (const path of ["src/a.ts", "100%/#1 a?b.md", "ü/日本 x", "a\u202eb"])
    expect(pathInHash(hashOf(path))).toBe(path);
  expect([pathInHash(""), pathInHash("#"), pathInHash("#100%")]).toEqual([null, null, null]);
});
