import { expect, test } from "vitest";
import { apply, begin, failureId, type Situation } from "../../projections/index.ts";
import type { AgentId, Fact, NewFact } from "../../protocol/index.ts";
import { inboxOf, needsPerson } from "./inbox.ts";

test("the human's inbox holds what waits for them over all agents, oldest first", () => {
  const first = situation("agent-aaaa", "first", [
    [10, question("question-1", "Which one?", { choices: ["A", "B"], deadline_ts: 99, default: "A" })],
    [12, message("msg-1", "human", "Half is done.")],
    [13, message("msg-2", "alice", "not for the human")],
  ]);
  const second = situation("agent-bbbb", "second", [[11, question("question-1", "May I?")]]);
  const item = { choices: [], deadline_ts: null, default: null, from: { id: "alice", name: "Alice" } };
  expect(inboxOf([second, first])).toEqual([
    {
      ...item,
      kind: "question",
      id: "question-1",
      agent: { id: "agent-aaaa", name: "first" },
      text: "Which one?",
      since_ts: 10,
      choices: ["A", "B"],
      deadline_ts: 99,
      default: "A",
    },
    {
      ...item,
      kind: "question",
      id: "question-1",
      agent: { id: "agent-bbbb", name: "second" },
      text: "May I?",
      since_ts: 11,
    },
    {
      ...item,
      kind: "message",
      id: "msg-1",
      agent: { id: "agent-aaaa", name: "first" },
      text: "Half is done.",
      since_ts: 12,
    },
  ]);
});

test("what failed and what wants an approval waits for a person; a pause of their own does not", () => {
  const failed = situation("agent-aaaa", "first", [
    [10, { type: "run.started", data: { run_id: "run-1", goal: "G" } }],
    [11, { type: "agent.failed", data: { error: "No key." } }],
    [12, { type: "message.received", data: { message_id: "msg-9", by: "human" } }],
  ]);
  const approving = situation("agent-bbbb", "second", [
    [5, { type: "run.started", data: { run_id: "run-1", goal: "G" } }],
    [6, { type: "agent.paused", data: { why: "Stage 1 needs your approval." } }],
  ]);
  const paused = situation("agent-cccc", "third", [[7, { type: "agent.paused", data: { why: "human" } }]]);
  const item = { choices: [], deadline_ts: null, default: null, id: "run-1" };
  const from = { id: "coordinator", name: "coordinator" };
  const items = inboxOf([failed, approving, paused]);
  expect(items).toEqual([
    {
      ...item,
      kind: "approval",
      agent: { id: "agent-bbbb", name: "second" },
      from,
      text: "Stage 1 needs your approval.",
      since_ts: 6,
    },
    { ...item, kind: "failure", agent: { id: "agent-aaaa", name: "first" }, from, text: "No key.", since_ts: 11 },
  ]);
  expect(items.every(needsPerson)).toBe(true);
  expect(needsPerson({ kind: "message" })).toBe(false);
  apply(failed, { seq: 99, ts: 13, agent_id: "agent-aaaa", type: "agent.started", data: { why: "resumed", pid: 1 } });
  apply(approving, { seq: 99, ts: 13, agent_id: "agent-bbbb", type: "agent.resumed", data: {} });
  expect(inboxOf([failed, approving])).toEqual([]);
});

test("a task of a mesh that failed waits for a person until they have seen it, or it is done after all", () => {
  const failed_task = { mesh: "review", agent: null, name: "1-a.md" };
  const said = (name: string, text: string): NewFact => {
    const task = { ...failed_task, name };
    const data = { message_id: failureId(task), from: "review-fixer", to: "human", text, file: "f", hops: 1 };
    return { type: "message.sent", data: { ...data, failed_task: task } };
  };
  const now = situation("agent-aaaa", "mesh: shop", [
    [10, said("1-a.md", "review could not do “A”: no key.")],
    [11, said("2-b.md", "review could not do “B”: no key.")],
    [12, said("3-c.md", "review could not do “C”: no key.")],
    // Put back, and failed once more: one failure.
    [13, said("3-c~2.md", "review could not do “C”: no room.")],
  ]);
  const text = () => inboxOf([now]).map(({ kind, text, mesh_task }) => [kind, text, mesh_task?.name]);
  expect(inboxOf([now]).every(needsPerson)).toBe(true);
  expect(text()).toEqual([
    ["failure", "review could not do “A”: no key.", "1-a.md"],
    ["failure", "review could not do “B”: no key.", "2-b.md"],
    ["failure", "review could not do “C”: no room.", "3-c~2.md"],
  ]);
  const more = (seq: number, fact: NewFact) => apply(now, { seq, ts: 20, agent_id: "agent-aaaa", ...fact } as Fact);
  const seen = { message_id: failureId({ ...failed_task, name: "2-b.md" }), by: "human" };
  more(90, { type: "message.received", data: seen });
  more(91, { type: "mesh.completed", data: { mesh: "review", agent: null, name: "1-a~2.md", gist: "Done." } });
  more(92, { type: "mesh.completed", data: { mesh: "review", agent: "fixer", name: "3-c.md", gist: "Another." } });
  expect(text()).toEqual([["failure", "review could not do “C”: no room.", "3-c~2.md"]]);
});

test("what was answered, withdrawn or read waits no longer", () => {
  const now = situation("agent-aaaa", "first", [
    [10, question("question-1", "Which one?")],
    [10, question("question-2", "May I?")],
    [11, message("msg-1", "human", "Half is done.")],
    [
      12,
      { type: "human.response", data: { question_id: "question-1", worker_id: "alice", text: "A", channel: "web" } },
    ],
    [12, { type: "run.finished", data: { run_id: "run-1", outcome: { kind: "finished", summary: "" } } }],
    [12, { type: "message.received", data: { message_id: "msg-1", by: "human" } }],
  ]);
  expect(inboxOf([now])).toEqual([]);
});

function situation(agent_id: AgentId, name: string, facts: [number, NewFact][]): Situation {
  const data = {
    name,
    goal: "",
    mode: "finite",
    model: "m",
    worker_model: "m",
    budget_usd: null,
    project: null,
  } as const;
  const now = begin({ seq: 1, ts: 1, agent_id, type: "agent.created", data: { ...data, tools: null } });
  const spawned = { run_id: "run-1", worker_id: "alice", name: "Alice", kind: "harnessed", model: "m" } as const;
  const all: [number, NewFact][] = [[2, { type: "worker.spawned", data: spawned }], ...facts];
  all.forEach(([ts, fact], at) => {
    apply(now, { ...fact, seq: at + 2, ts, agent_id } as Fact);
  });
  return now;
}

function question(question_id: string, text: string, more: object = {}): NewFact {
  const data = { question_id, worker_id: "alice", node_id: null, call_id: question_id, text, ...more };
  return { type: "human.question", data };
}

function message(message_id: string, to: string, text: string): NewFact {
  return { type: "message.sent", data: { message_id, from: "alice", to, text, file: "f", hops: 1 } };
}
