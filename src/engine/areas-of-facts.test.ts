import { expect, test } from "vitest";
import type { Fact } from "../protocol/index.ts";
import { areasOf, type Runs } from "./areas-of-facts.ts";

const runs: Runs = { ofNode: (node) => (node === "node-1" ? "run-1" : undefined), current: () => "run-2" };
const fact = (type: Fact["type"], data: object) => ({ seq: 1, ts: 0, agent_id: "agent-abcd2345", type, data }) as Fact;

test.each([
  [
    "tool.result",
    { worker_id: "clara", node_id: "node-1" },
    ["runs/run-1/nodes/node-1", "runs/run-1/workers/clara", ".programs/run-1/clara"],
    [],
  ],
  [
    "tool.result",
    { worker_id: "coordinator", node_id: null },
    [
      "",
      "memory",
      "runs/run-2",
      "runs/run-2/output",
      "scratch",
      "runs/run-2/workers/coordinator",
      ".programs/run-2/coordinator",
    ],
    [],
  ],
  ["model.responded", { worker_id: "clara", node_id: "node-1" }, [], []],
  ["memory.written", { path: "memory/a.md" }, ["", "memory"], []],
  ["agent.completed", { summary: "" }, [""], []],
  ["branch.moved", {}, [], ["repo.git"]],
] as const)("AREAS-1: with %s %j these folders are looked at", (type, data, looked, named) => {
  const areas = areasOf([fact(type, data)], runs);
  expect(areas.looked.map(({ path }) => path)).toEqual(looked);
  expect(areas.named.map(({ path }) => path)).toEqual(named);
});

test("AREAS-1: what is published is there with everything in its folder, and what a run leaves too", () => {
  const { named } = areasOf(
    [fact("node.published", { worker_id: "clara", node_id: "node-1" }), fact("run.finished", { run_id: "run-2" })],
    runs,
  );
  expect(named).toEqual(
    expect.arrayContaining([
      { path: "runs/run-1/nodes/node-1", depth: "all" },
      { path: "repo.git", depth: "all" },
      { path: "runs/run-2/output", depth: "all" },
      { path: "runs/run-2", depth: "files" },
    ]),
  );
});
