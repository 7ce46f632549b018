import { expect, test } from "vitest";
import { apply, begin, type Situation } from "../../projections/index.ts";
import type { Fact, NewFact } from "../../protocol/index.ts";
import type { AgentLog } from "../../store/store.ts";
import { manualClock } from "../../testing/index.ts";
import { AgentFiles } from "./agent-files.ts";

/** However large the board and however small its nodes, most of its past is kept. */
test.each([
  ["a small board", 10, 1000],
  ["a board of 1,000 nodes", 1000, 4000],
])("what is to be read again after a kill is bounded on %s: 1,000 facts, or four for each node", (_, nodes, most) => {
  const { files, kept, fact } = filesOn(nodes);
  for (let facts = 1; facts < most; facts++) files.note(fact());
  expect(kept).toEqual([]);
  files.note(fact());
  expect(kept).toEqual(["situation"]);
});

function filesOn(nodes: number) {
  const kept: string[] = [];
  const now = situationWith(nodes);
  const saveSnapshot: AgentLog["saveSnapshot"] = async (name) => void kept.push(name);
  const log = { dir: "/nowhere", saveSnapshot } as Partial<AgentLog> as AgentLog;
  const files = new AgentFiles({ log, now: () => now, clock: manualClock(), failed: () => {} });
  const data = { worker_id: "coordinator", node_id: null, model: "m/m", turn: 1 };
  const fact = (): Fact => ({ seq: ++now.seq, ts: 0, agent_id: "agent-abcd", type: "model.called", data });
  return { files, kept, fact };
}

function situationWith(nodes: number): Situation {
  const of = (seq: number, fact: NewFact) => ({ seq, ts: 0, agent_id: "agent-abcd", ...fact }) as Fact;
  const born = { name: "n", goal: "g", mode: "finite", model: "m/m", worker_model: "m/m" } as const;
  const now = begin(of(1, { type: "agent.created", data: { ...born, budget_usd: null, project: null, tools: null } }));
  const spec = { run_id: "run-1", task: "Look", inference: "multi", refs: {}, parent_node_id: null } as const;
  for (let at = 1; at <= nodes; at++) {
    const lists = { dependencies: [], deliverables: [] };
    const data = { ...spec, ...lists, node_id: `node-${at}` as const, created_by: "coordinator" };
    apply(now, of(at + 1, { type: "node.created", data }));
  }
  return now;
}
