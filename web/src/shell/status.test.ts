import { expect, test } from "vitest";
import { apply, begin, type Situation, summarise } from "../../../src/projections/index.ts";
import type { Fact, NewFact } from "../../../src/protocol/index.ts";
import { EACH, sampleFact } from "../../../src/protocol/testing/each-fact.ts";
import type { AgentSummary } from "../live/api.ts";
import { crowd, statusInTeam, statusNow, statusOfSummary } from "./status.tsx";

const spawned = (worker_id: string): NewFact => ({
  type: "worker.spawned",
  data: { run_id: "run-1", worker_id, name: worker_id, kind: "harnessed", model: "x/y" },
});
const AT_WORK: NewFact[] = [
  { type: "agent.started", data: { why: "created", pid: 1 } },
  { type: "run.started", data: { run_id: "run-1", goal: "Look" } },
  ...["coordinator", "ann", "bob", "carol", "dan"].map(spawned),
  { type: "worker.busy", data: { worker_id: "coordinator", node_id: null } },
  { type: "worker.busy", data: { worker_id: "ann", node_id: "node-1" } },
  { type: "worker.waiting", data: { worker_id: "bob", node_id: "node-2", for: "human" } },
  { type: "worker.retired", data: { worker_id: "dan" } },
];
const REST: NewFact = { type: "worker.idle", data: { worker_id: "coordinator" } };

test.each([
  ["at work", [], ["working", "working", "working", "asking", "idle", "retired"]],
  [
    "failed",
    [REST, { type: "agent.failed", data: { error: "No key." } }],
    ["failed", "failed", "stopped", "asking", "stopped", "retired"],
  ],
  [
    "stopped",
    [REST, { type: "agent.stopped", data: { by: "human" } }],
    ["stopped", "stopped", "stopped", "asking", "stopped", "retired"],
  ],
  [
    "paused",
    [REST, { type: "agent.paused", data: { why: "human" } }],
    ["paused", "paused", "paused", "asking", "paused", "retired"],
  ],
  [
    "paused for approval",
    [REST, { type: "agent.paused", data: { why: "Stage 1 wants approval" } }],
    ["asking", "asking", "paused", "asking", "paused", "retired"],
  ],
  [
    "completed",
    [
      REST,
      { type: "worker.idle", data: { worker_id: "ann" } },
      { type: "agent.completed", data: { summary: "Done." } },
    ],
    ["done", "done", "idle", "asking", "idle", "retired"],
  ],
] as const satisfies readonly (readonly [string, readonly NewFact[], readonly string[]])[])(
  "dots of an agent that is %s fit how it fares",
  (_, more, expected) => {
    const now = grown([...AT_WORK, ...more]);
    const members = ["coordinator", "ann", "bob", "carol", "dan"].map((id) => statusInTeam(now, id));
    expect([statusNow(now), ...members]).toEqual(expected);
  },
);

test("whoever was hired for an earlier run went with it; the coordinator stays", () => {
  const now = grown([...AT_WORK, { type: "run.started", data: { run_id: "run-2", goal: "Look again" } }]);
  expect(["coordinator", "ann", "carol"].map((id) => statusInTeam(now, id))).toEqual(["working", "retired", "retired"]);
});

test("in a list one sees as well who sleeps, and who waits for approval", () => {
  const of = (more: Partial<AgentSummary>) =>
    statusOfSummary({
      status: "working",
      trouble: null,
      needs_decision: false,
      asleep: false,
      ...more,
    } as AgentSummary);
  const slept = summarise(
    grown(
      [...AT_WORK, { type: "worker.waiting", data: { worker_id: "coordinator", node_id: null, for: "news" } }],
      "infinite",
    ),
  );
  expect([
    of({}),
    of({ asleep: slept.asleep }),
    of({ status: "paused" }),
    of({ status: "paused", needs_decision: true }),
    of({ status: "failed", needs_decision: true }),
  ]).toEqual(["working", "asleep", "paused", "asking", "failed"]);
});

function grown(facts: readonly NewFact[], mode: "finite" | "infinite" = "finite"): Situation {
  const created = { ...sampleFact("agent.created"), data: { ...EACH["agent.created"], mode } } as Fact;
  const now = begin(created);
  for (const [index, fact] of facts.entries())
    apply(now, { seq: index + 2, agent_id: "agent-test", ts: index, ...fact } as Fact);
  return now;
}

test("where more than a dozen are at work, they are a crowd, in which none turns", () => {
  const team = (working: number) => [
    ...Array(working).fill({ status: "working" }),
    ...Array(20).fill({ status: "idle" }),
  ];
  expect([crowd(team(12), "working"), crowd(team(13), "working")]).toEqual(["", "crowd"]);
});
