import { expect, test } from "vitest";
import type { MeshConfig } from "../../protocol/index.ts";
import { agentsBeside, due, isDone, planOf, type StepProgress, type WorkflowPlan } from "./topology.ts";

const mesh = (config: Partial<MeshConfig>): WorkflowPlan =>
  planOf({ type: "persistent", agents: ["x/a", "x/b", "x/c"], ...config });
const given = (...steps: [string, "given" | "done"][]): StepProgress => new Map(steps);
const names = (plan: WorkflowPlan, progress: StepProgress) =>
  due(plan, progress).map(({ at, agent, from }) => [at, agent, from.join(" ")]);

test("sequential: each after the one before, with its results", () => {
  const plan = mesh({ topology: "sequential", workflow: ["a", "b", "c"] });
  expect(names(plan, given())).toEqual([["0", "a", ""]]);
  expect(names(plan, given(["0", "given"]))).toEqual([]);
  expect(names(plan, given(["0", "done"]))).toEqual([["1", "b", "0"]]);
  expect(names(plan, given(["0", "done"], ["1", "done"]))).toEqual([["2", "c", "1"]]);
  expect(isDone(plan, given(["0", "done"], ["1", "done"], ["2", "done"]))).toBe(true);
});

test("parallel: all at once, and all must complete", () => {
  const plan = mesh({ topology: "parallel" });
  expect(names(plan, given())).toEqual([
    ["0", "a", ""],
    ["1", "b", ""],
    ["2", "c", ""],
  ]);
  expect(isDone(plan, given(["0", "done"], ["1", "done"], ["2", "given"]))).toBe(false);
});

test("map-reduce: the reducer gets all that was mapped; a second reducer gets the first one's", () => {
  const plan = mesh({ workflow: { map: ["a", "b"], reduce: ["c", "a"] } });
  expect(names(plan, given(["map.0", "done"], ["map.1", "given"]))).toEqual([]);
  expect(names(plan, given(["map.0", "done"], ["map.1", "done"]))).toEqual([["reduce.0", "c", "map.0 map.1"]]);
  expect(names(plan, given(["map.0", "done"], ["map.1", "done"], ["reduce.0", "done"]))).toEqual([
    ["reduce.1", "a", "reduce.0"],
  ]);
});

test("hierarchical, inferred: one is given the task; the rest is between them", () => {
  const plan = mesh({ entry_point: "b" });
  expect(names(plan, given())).toEqual([["0", "b", ""]]);
  expect(isDone(plan, given(["0", "done"]))).toBe(true);
});

test("nested: a map-reduce within a sequence, then a parallel step, then whoever completes", () => {
  const plan = mesh({
    agents: ["x/a", "x/b", "x/c", "x/d"],
    workflow: ["a", { map: ["b", "c"], reduce: ["a"] }, { parallel: ["b", { sequential: ["c", "a"] }] }],
    completion_agent: "d",
  });
  const done = (...steps: string[]): StepProgress => new Map(steps.map((step) => [step, "done"]));
  expect(names(plan, done("0"))).toEqual([
    ["1.map.0", "b", "0"],
    ["1.map.1", "c", "0"],
  ]);
  expect(names(plan, done("0", "1.map.0", "1.map.1", "1.reduce.0"))).toEqual([
    ["2.0", "b", "1.reduce.0"],
    ["2.1.0", "c", "1.reduce.0"],
  ]);
  const late = ["0", "1.map.0", "1.map.1", "1.reduce.0", "2.0", "2.1.0", "2.1.1"];
  expect(names(plan, done(...late))).toEqual([["completion", "d", "2.0 2.1.1"]]);
  expect(isDone(plan, done(...late, "completion"))).toBe(true);
});

test("an agent works beside others in a parallel step, wherever it is nested, and not elsewhere", () => {
  const plan = planOf({
    agents: ["x/a", "x/b", "x/c", "x/d"],
    type: "persistent",
    workflow: ["a", { parallel: ["b", { sequential: ["c", "a"] }] }, "d", { parallel: ["d", "d"] }],
  });
  expect(["a", "b", "c", "d"].map((agent) => agentsBeside(plan, agent))).toEqual([["b"], ["c", "a"], ["b"], []]);
});
