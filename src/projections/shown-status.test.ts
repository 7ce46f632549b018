import { expect, test } from "vitest";
import type { NodeState } from "./node-state.ts";
import { emptyQuestions, type Question } from "./questions.ts";
import { type Standing, shownNodeStatus } from "./shown-status.ts";

const QUIET = { questions: emptyQuestions(), agent: { coordinator_decides: false } };

test.for([
  ["working", ["pending", "assigned", "running", "publishing", "completed", "failed", "cancelled"]],
  ["waiting_for_human", ["pending", "assigned", "running", "publishing", "completed", "failed", "cancelled"]],
  ["paused", ["pending", "paused", "paused", "paused", "completed", "failed", "cancelled"]],
  ["stopped", ["pending", "stopped", "stopped", "stopped", "completed", "failed", "cancelled"]],
  ["failed", ["pending", "stopped", "stopped", "stopped", "completed", "failed", "cancelled"]],
  ["interrupted", ["pending", "interrupted", "interrupted", "interrupted", "completed", "failed", "cancelled"]],
] as const)("while the agent is %s, whatever is under way rests with it", ([standing, words]) => {
  const all = ["pending", "assigned", "running", "publishing", "completed", "failed", "cancelled"] as const;
  expect(all.map((status) => shownNodeStatus(node(status), QUIET, standing satisfies Standing))).toEqual(words);
});

test("a node whose worker asks needs you, and no other", () => {
  const asked: Question = {
    id: "question-1",
    worker_id: "ann",
    node_id: "node-1",
    call_id: "call-1",
    text: "Which?",
    asked_ts: 1,
    answer: null,
  };
  const now = { ...QUIET, questions: { ...emptyQuestions(), open: { "question-1": asked } } };
  expect([
    shownNodeStatus(node("running"), now, "working"),
    shownNodeStatus(node("running", 2), now, "working"),
  ]).toEqual(["needs you", "running"]);
});

test("while the coordinator decides after a stop, what was under way is stopped", () => {
  const now = { ...QUIET, agent: { coordinator_decides: true } };
  expect([shownNodeStatus(node("running"), now, "working"), shownNodeStatus(node("pending"), now, "working")]).toEqual([
    "stopped",
    "pending",
  ]);
});

function node(status: NodeState["status"], number = 1): NodeState {
  return { id: `node-${number}`, status } as NodeState;
}
