import { expect, test } from "vitest";
import type { Fact, NewFact } from "../protocol/index.ts";
import { summarise } from "./agent-summary.ts";
import { preliminarySummary } from "./preliminary-summary.ts";
import { apply, begin } from "./situation.ts";

test("without a kept summary, the first fact says who it is and the latest facts how it is doing", () => {
  const [first, ...rest] = facts(CREATED, STARTED, RUN, ...QUIET, FAILED);
  expect(preliminarySummary(first, undefined, rest.slice(-2))).toMatchObject({
    ...{ id: "agent-aaaa", name: "one", seq: 8, created_ts: 1, updated_ts: 8, loading: true },
    ...{ status: "failed", error: "no model", needs_decision: true, goal: "Begin", cost_usd: 0 },
  });
});

test("an agent that did nothing lately but work is at work", () => {
  const [first, ...rest] = facts(CREATED, STARTED, RUN, ...QUIET);
  expect(preliminarySummary(first, undefined, rest.slice(-2)).status).toBe("working");
});

test("what was kept counts as far as the latest facts say nothing newer", () => {
  const [first, ...rest] = facts(CREATED, STARTED, RUN, FAILED, ARCHIVED, ...QUIET);
  const now = begin(first);
  for (const fact of rest.slice(0, 4)) apply(now, fact);
  const kept = summarise(now);
  const { seq, updated_ts, ...same } = kept;
  expect(preliminarySummary(first, kept, rest.slice(-2))).toEqual({ ...same, seq: 9, updated_ts: 9, loading: true });
  const [restarted] = facts(...Array.from({ length: 9 }, () => STARTED), STARTED).slice(-1);
  if (!restarted) throw new Error("no fact");
  expect(preliminarySummary(first, kept, [restarted])).toMatchObject({
    ...{ status: "working", archived: true, error: null, needs_decision: false, goal: "Go on", run_id: "run-1" },
  });
});

function facts(...all: NewFact[]): [Fact, ...Fact[]] {
  const numbered = all.map(
    (fact, index) => ({ ...fact, seq: index + 1, ts: index + 1, agent_id: "agent-aaaa" }) as Fact,
  );
  const [first, ...rest] = numbered;
  if (!first) throw new Error("no facts");
  return [first, ...rest];
}

const CREATED: NewFact = {
  type: "agent.created",
  data: {
    name: "one",
    goal: "Begin",
    mode: "finite",
    model: "m",
    worker_model: "m",
    budget_usd: null,
    project: null,
    tools: null,
  },
};
const STARTED: NewFact = { type: "agent.started", data: { why: "created", pid: 1 } };
const RUN: NewFact = { type: "run.started", data: { run_id: "run-1", goal: "Go on" } };
const FAILED: NewFact = { type: "agent.failed", data: { error: "no model" } };
const ARCHIVED: NewFact = { type: "agent.archived", data: { by: "human" } };
const QUIET: NewFact[] = Array.from({ length: 4 }, (_, turn) => ({
  type: "model.called",
  data: { worker_id: "coordinator", node_id: null, model: "m", turn },
}));
