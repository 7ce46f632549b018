import { expect, test } from "vitest";
import { fitsPattern } from "./event-match.ts";

test("a star in a pattern stands for any letters", () => {
  const types = ["node.completed", "node.failed", "model.failed", "worker.idle", "a.b"];
  const fitting = (pattern: string) => types.filter((type) => fitsPattern(pattern, type));
  expect({
    "node.completed": fitting("node.completed"),
    "node.*": fitting("node.*"),
    "*.failed": fitting("*.failed"),
    "*o*.*e*": fitting("*o*.*e*"),
    "node.completed*completed": fitting("node.completed*completed"),
    node: fitting("node"),
  }).toEqual({
    "node.completed": ["node.completed"],
    "node.*": ["node.completed", "node.failed"],
    "*.failed": ["node.failed", "model.failed"],
    "*o*.*e*": ["node.completed", "node.failed", "model.failed", "worker.idle"],
    "node.completed*completed": [],
    node: [],
  });
});
