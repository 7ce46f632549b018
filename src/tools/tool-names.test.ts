import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { problemWithTools, TOOL_NAMES } from "./tool-names.ts";

test("every tool that is defined here can be named, and nothing else", () => {
  const defined = readdirSync(import.meta.dirname)
    .filter((file) => /(?<!\.test)\.ts$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(import.meta.dirname, file), "utf8");
      const names = [...text.matchAll(/(?:defineTool\(\{\s*name: |endingTool\()"([a-z_]+)"/g)];
      return names.map(([, name]) => name);
    });
  expect([...new Set(defined)].sort()).toEqual([...TOOL_NAMES].sort());
});

test("a tool that nobody has is named with the nearest one; those of a declared server are known", () => {
  const servers = ["files"];
  expect(problemWithTools(["bash", "mcp__files", "mcp__files__search"], servers)).toBeUndefined();
  expect(problemWithTools(["bash", "websearch"], servers)).toMatch(
    /^There is no tool "websearch"\. Did you mean "web_search"\? Choose from: read_file, .*, mcp__files\.$/,
  );
  expect(problemWithTools(["mcp__file__x"], [])).toMatch(/^There is no tool "mcp__file__x"\./);
});
