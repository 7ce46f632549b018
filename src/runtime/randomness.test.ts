import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { secureRandom } from "./randomness.ts";

test("randomness comes from the system's generator, whatever Math.random says", () => {
  using _ = vi.spyOn(Math, "random").mockReturnValue(0.5);
  const drawn = Array.from({ length: 1000 }, secureRandom);
  expect(new Set(drawn).size).toBe(1000);
  expect(drawn.every((number) => number >= 0 && number < 1)).toBe(true);
});

test("no module of the program uses Math.random", () => {
  const src = join(import.meta.dirname, "..");
  const files = globSync("**/*.ts", { cwd: src, exclude: ["**/*.test.ts", "**/testing/**"] });
  expect(files.filter((file) => readFileSync(join(src, file), "utf8").includes("Math.random"))).toEqual([]);
});
