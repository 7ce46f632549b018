import { expect, test } from "vitest";
import { problemWords } from "./mesh-problems.ts";

test("the same problem of several agents is said once, with all their names; others stay as they are", () => {
  const missing = '"options.program": The program claude-code is not installed.';
  const of = (file: string, words: string) => ({ file, problem: `${file}: ${words}` });
  expect(
    problemWords([
      of("meshes/mesh-configs/odd.json", '"type": expected "task"'),
      of("meshes/agents/build/planner/config.json", missing),
      of("meshes/agents/review/fixer/config.json", missing),
      of("meshes/agents/review/critic/config.json", '"options.program": There is no program "clod".'),
      of("meshes/mesh-configs/two.json", missing),
    ]),
  ).toEqual([
    'meshes/mesh-configs/odd.json: "type": expected "task"',
    `build/planner, review/fixer, meshes/mesh-configs/two.json: ${missing}`,
    'meshes/agents/review/critic/config.json: "options.program": There is no program "clod".',
  ]);
  expect(problemWords([])).toEqual([]);
});
