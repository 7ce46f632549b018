import { expect, test } from "vitest";
import { apply, begin } from "../../projections/index.ts";
import type { Fact, NewFact } from "../../protocol/index.ts";
import { coordinatorScope } from "../../store/scope/team-scopes.ts";
import { temporaryHome } from "../../testing/index.ts";
import { restateForCoordinator } from "./restate.ts";
import { boundedSummary } from "./summary.ts";

const AROUND = { today: "Monday, 2026-03-02, 09:00 (UTC)", memory: "## MEMORY.md\n\nThe page is in French." };

const run = { id: "run-1", goal: "Go" } as const;

test("what the human said is restated as far as it was told; the rest comes by mail, once", async () => {
  await using home = await temporaryHome();
  const scope = coordinatorScope({ agentDir: home.path, runId: run.id, project: null });
  const now = situationAfter(
    said("human", "coordinator", "One."),
    said("alice", "coordinator", "Two."),
    said("human", "*", "Three."),
  );
  const between = async (untoldFrom: number) => {
    const sections = await restateForCoordinator(run, scope, now, untoldFrom, AROUND);
    return sections.find(({ title }) => title === "Between you and your human")?.text;
  };
  expect(await between(4)).toBe("- Your human: One.");
  expect(await between(Number.POSITIVE_INFINITY)).toBe("- Your human: One.\n- Your human: Three.");
});

test("insights nobody has decided about outlast a compaction; those still to be told come by mail", async () => {
  await using home = await temporaryHome();
  const scope = coordinatorScope({ agentDir: home.path, runId: run.id, project: null });
  const offered = (title: string): NewFact => ({
    type: "insight.offered",
    data: { worker_id: "alice", node_id: "node-1", title, content: "Measured\ntwice." },
  });
  const now = situationAfter(
    offered("Chips throttle"),
    offered("Water is wet"),
    { type: "insight.declined", data: { insight_id: "insight-2", why: "" } },
    offered("Ice is cold"),
  );
  const sections = await restateForCoordinator(run, scope, now, 5, AROUND);
  expect(sections.find(({ title }) => title === "Insights that wait for your decision")?.text).toBe(
    "- insight-1 from alice: Chips throttle\n  Measured twice.",
  );
});

test("when there is no room for all, the newest ends, files and words of the human are the ones that stay", async () => {
  await using home = await temporaryHome();
  const scope = coordinatorScope({ agentDir: home.path, runId: run.id, project: null });
  const year = Array.from({ length: 100 }, (_, at) => [
    ...done(at + 1),
    said("human", "coordinator", `Word ${at + 1}.`),
  ]);
  const now = situationAfter(...year.flat(), ...done(102, 101));
  const summary = boundedSummary(await restateForCoordinator(run, scope, now, Number.POSITIVE_INFINITY, AROUND), 2_400);
  expect(summary).toMatch(/what has ended\n\n- node-101 \[completed\].*\n- node-102 .*\n- node-100 /);
  expect(summary).toMatch(/published\n\n- nodes\/node-102\/published\/a.md/);
  expect(summary).toContain("- Your human: Word 100.");
  expect(boundedSummary([{ title: "Said", text: "one\ntwo\nthree ü", keep: "end" }], 500).endsWith("three ü")).toBe(
    true,
  );
  expect([summary.includes("node-1 ["), summary.includes("/node-1/")]).toEqual([false, false]);
});

/** Nodes that are created by their numbers and end in the given order. */
function done(...ended: number[]): NewFact[] {
  const plain = { run_id: run.id, task: "Measure it.", inference: "multi", refs: {} } as const;
  const more = { dependencies: [], deliverables: [], parent_node_id: null, created_by: "coordinator" };
  const created = ended
    .toSorted((a, b) => a - b)
    .map((number): NewFact => ({ type: "node.created", data: { ...plain, ...more, node_id: `node-${number}` } }));
  const files = [{ path: "a.md", bytes: 2, sha256: "0" }];
  return [
    ...created,
    ...ended.flatMap((number): NewFact[] => {
      const by = { node_id: `node-${number}`, worker_id: "alice" } as const;
      return [
        { type: "node.assigned", data: by },
        { type: "node.started", data: by },
        { type: "node.published", data: { ...by, summary: "80", files } },
        { type: "node.completed", data: { ...by, summary: "80" } },
      ];
    }),
  ];
}

function said(from: string, to: string, text: string): NewFact {
  return { type: "message.sent", data: { message_id: text, from, to, text, file: "f", hops: 1 } };
}

/** The first of them is fact 2. */
function situationAfter(...facts: NewFact[]) {
  const plain = { name: "n", goal: "Go", mode: "finite", model: "m", worker_model: "m" } as const;
  const data = { ...plain, budget_usd: null, project: null, tools: null };
  const numbered = [{ type: "agent.created" as const, data }, ...facts].map(
    (fact, at) => ({ ...fact, seq: at + 1, ts: 0, agent_id: "agent-abcd" }) as Fact,
  );
  const [first, ...rest] = numbered;
  if (!first) throw new Error("nothing happened");
  const now = begin(first);
  for (const fact of rest) apply(now, fact);
  return now;
}
