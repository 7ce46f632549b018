import { expect, test } from "vitest";
import type { Fact } from "../../protocol/index.ts";
import { figuresOf } from "./stats.ts";

const fact = (ts: number, type: string, data: object): Fact =>
  ({ seq: ts, agent_id: "agent-1", ts, type, data }) as never;

test("figures count ends, the time from when a task was taken up, refusals of gates and starts of sessions", () => {
  const task = { mesh: "review", agent: null, name: "t.md" };
  const step = { mesh: "review", agent: "fixer", name: "t.0.md" };
  const facts = [
    fact(1, "mesh.activated", task),
    fact(2, "mesh.session", { mesh: "review", agent: "fixer", state: "starting" }),
    fact(3, "mesh.activated", step),
    fact(8, "mesh.completed", { ...step, gist: "Fixed." }),
    fact(9, "mesh.gate", { mesh: "review", gate: "g", ok: false, why: "no" }),
    fact(11, "mesh.failed", { ...task, why: "no" }),
    fact(12, "mesh.activated", { ...task, name: "u.md" }),
    fact(16, "mesh.completed", { ...task, name: "u.md", gist: "Yes." }),
  ];
  expect(figuresOf(facts)).toEqual([
    {
      ...{ mesh: "review", agent: null, done: 1, failed: 1 },
      seconds: { sum: 14, longest: 10 },
      sessions: 0,
      refused: 1,
    },
    {
      ...{ mesh: "review", agent: "fixer", done: 1, failed: 0 },
      seconds: { sum: 5, longest: 5 },
      sessions: 1,
      refused: 0,
    },
  ]);
});
