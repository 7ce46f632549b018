import { expect, test } from "vitest";
import { apply, begin, type Situation } from "../projections/index.ts";
import type { Fact, NewFact, Outcome } from "../protocol/index.ts";
import { newsFor } from "./news.ts";

test("a message is news to whom it is for, or to everyone but its sender", () => {
  const one = message("alice", "bob");
  const all = message("alice", "*");
  const told = ["alice", "bob", "coordinator"].map((reader) => [newsOf(reader, one), newsOf(reader, all)]);
  const text = "[Message from alice]: Look.";
  expect(told).toEqual([
    [undefined, undefined],
    [text, text],
    [undefined, text],
  ]);
  expect(newsOf("alice", message("alice", "alice"))).toBe(undefined);
});

test("how a node ended is news to the coordinator alone, with the worker's name and its files", () => {
  const history: NewFact[] = [
    {
      type: "worker.spawned",
      data: { run_id: "run-1", worker_id: "alice", name: "Alice", kind: "harnessed", model: "m" },
    },
    created,
    { type: "node.published", data: { ...WHO, summary: "80", files: [{ path: "a.md", sha256: "", bytes: 2 }] } },
  ];
  const completed: NewFact = { type: "node.completed", data: { ...WHO, summary: "80" } };
  expect([newsOf("coordinator", completed, history), newsOf("alice", completed, history)]).toEqual([
    "node-1 completed by Alice: 80\nPublished: nodes/node-1/published/a.md",
    undefined,
  ]);
});

test.each<[Outcome, string]>([
  [{ kind: "failed", error: "no such key" }, "no such key"],
  [{ kind: "budget_exhausted", spent_usd: 1 }, "budget exhausted"],
  [{ kind: "exhausted", turns: 3 }, "exhausted"],
])("why a node failed is said, and where its files are: %j", (outcome, why) => {
  const failed: NewFact = { type: "node.failed", data: { ...WHO, outcome } };
  expect([newsOf("coordinator", failed, [created]), newsOf("alice", failed, [created])]).toEqual([
    `node-1 failed: ${why}. Its unfinished files are in nodes/node-1/scratch/.`,
    undefined,
  ]);
});

test("who is resumed is told the board as it is, not as it is remembered", () => {
  const resumed: NewFact = { type: "agent.resumed", data: {} };
  expect(newsOf("coordinator", resumed, [created])).toBe(
    "Your human stopped the work and has now resumed it. The board as it is:\n- node-1 [pending] Measure\nGo on.",
  );
});

const WHO = { node_id: "node-1", worker_id: "alice" } as const;
const created: NewFact = {
  type: "node.created",
  data: {
    run_id: "run-1",
    node_id: "node-1",
    task: "Measure",
    inference: "multi",
    dependencies: [],
    refs: {},
    deliverables: [],
    parent_node_id: null,
    created_by: "coordinator",
  },
};

function message(from: string, to: string): NewFact {
  return { type: "message.sent", data: { message_id: "m1", from, to, preview: "Look.", file: null } };
}

/** As the mailbox asks it: the situation already holds the fact. */
function newsOf(reader: string, fact: NewFact, history: NewFact[] = []): string | undefined {
  const now = situation();
  const facts = [...history, fact].map((each, at) => ({ ...each, seq: at + 2, ts: 0, agent_id: now.agent.id }) as Fact);
  for (const each of facts) apply(now, each);
  return newsFor(reader, facts.at(-1) as Fact, now);
}

function situation(): Situation {
  const data = { name: "n", goal: "g", mode: "finite", model: "m", worker_model: "m" } as const;
  const nothing = { budget_usd: null, project: null, tools: null };
  return begin({ seq: 1, ts: 0, agent_id: "agent-abcd", type: "agent.created", data: { ...data, ...nothing } });
}
