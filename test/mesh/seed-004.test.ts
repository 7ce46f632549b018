import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { HEADINGS } from "./seed-004.ts";

test("each section of seed 004 has a scenario that runs it, and each scenario is one of a section", () => {
  const files = readdirSync(import.meta.dirname).filter((name) => /^seed-004-.*\.test\.ts$/.test(name));
  const played = files.flatMap((name) => {
    const text = readFileSync(join(import.meta.dirname, name), "utf8");
    // From one heading to the next; a heading without a test in it is not played.
    return text
      .split(/^describe\(/m)
      .slice(1)
      .flatMap((part) => {
        const [, heading] = /^(["'])(.*)\1, \(\) => \{$/m.exec(part)?.slice(1) ?? [];
        return heading !== undefined &&
          /^ {2}(test|withTmux)(\.each\(.*\))?\($|^ {2}(test|withTmux)(\.each\(.*\))?\("/m.test(part)
          ? [heading]
          : [];
      });
  });
  expect(played.toSorted()).toEqual([...HEADINGS].toSorted());
});
