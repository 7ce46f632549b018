import { expect, test } from "vitest";
import { apply, begin } from "../../projections/index.ts";
import type { Fact, NewFact, NodeId } from "../../protocol/index.ts";
import { Team } from "./team.ts";
import type { TeamPorts } from "./team-ports.ts";

const contract = { max_iterations_per_node: 9, timeout_seconds: 60, checkpoint_policy: "any" } as const;

test("nobody waits for what builds on one that has lost, while that one is still being cancelled", () => {
  const { team, happen } = teamOf(
    { type: "stage.started", data: { run_id: "run-1", stage: 1, name: "Stage 1", contract } },
    ...[made("node-1"), made("node-2"), made("node-3", ["node-1", "node-2"])],
    { type: "node.assigned", data: { node_id: "node-1", worker_id: "alice" } },
    { type: "node.assigned", data: { node_id: "node-2", worker_id: "bob" } },
  );
  expect(team.unfinished()).toContain("node-3 is pending");
  happen({ type: "node.completed", data: { node_id: "node-1", worker_id: "alice", summary: "" } });
  expect(team.unfinished()).toBe(null);
});

function teamOf(...facts: NewFact[]) {
  const born = { name: "n", goal: "g", mode: "finite", model: "m/m", worker_model: "m/m" } as const;
  const nothing = { budget_usd: null, project: null, tools: null };
  const at = { seq: 1, ts: 0, agent_id: "agent-abcd" } as const;
  const now = begin({ ...at, type: "agent.created", data: { ...born, ...nothing } });
  const happen = (fact: NewFact) => apply(now, { ...at, ...fact, seq: now.seq + 1 } as Fact);
  for (const fact of [{ type: "run.started", data: { run_id: "run-1", goal: "g" } } as const, ...facts]) happen(fact);
  const ports = { now: () => now, pending: () => now } as Partial<TeamPorts> as TeamPorts;
  return { team: new Team("run-1", ports), happen };
}

function made(node_id: NodeId, dependencies: NodeId[] = []): NewFact {
  const who = { run_id: "run-1", node_id, stage: 1, task: "T", inference: "multi", created_by: "coordinator" } as const;
  return { type: "node.created", data: { ...who, dependencies, refs: {}, deliverables: [], parent_node_id: null } };
}
