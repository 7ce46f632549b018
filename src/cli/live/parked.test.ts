import { expect, test } from "vitest";
import { apply, begin, type Situation } from "../../projections/index.ts";
import type { Fact, NewFact } from "../../protocol/index.ts";
import { isParked } from "./parked.ts";

const run_id = "run-1" as const;
const team: NewFact[] = [
  {
    type: "agent.created",
    data: {
      name: "house",
      goal: "Paint",
      mode: "finite",
      model: "x/y",
      worker_model: "x/y",
      budget_usd: null,
      project: null,
      tools: null,
    },
  },
  { type: "agent.started", data: { why: "created", pid: 1 } },
  { type: "run.started", data: { run_id, goal: "Paint" } },
  ...["coordinator", "alice", "bob"].map(
    (worker_id): NewFact => ({
      type: "worker.spawned",
      data: { run_id, worker_id, name: worker_id, kind: "harnessed", model: "x/y" },
    }),
  ),
];
const who = (worker_id: string) => ({ worker_id, node_id: null });
const busy = (worker_id: string): NewFact => ({ type: "worker.busy", data: who(worker_id) });
const waits = (worker_id: string, reason: "human" | "news" | "rate_limit"): NewFact => ({
  type: "worker.waiting",
  data: { ...who(worker_id), for: reason },
});
const asks = (worker_id: string, more: object = {}): NewFact => ({
  type: "human.question",
  data: { question_id: `question-${worker_id}`, ...who(worker_id), call_id: "c1", text: "Which colour?", ...more },
});
const mail = (to: string): NewFact => ({
  type: "message.sent",
  data: { message_id: "msg-1", from: "bob", to, text: "Look.", file: "", hops: 1 },
});

function after(...facts: NewFact[]): Situation {
  const all = [...team, ...facts].map((fact, i) => ({ seq: i + 1, agent_id: "agent-test", ts: i, ...fact }) as Fact);
  const [first, ...rest] = all;
  if (!first) throw new Error("There is always a first fact.");
  const now = begin(first);
  for (const fact of rest) apply(now, fact);
  return now;
}

const asked = [waits("coordinator", "news"), asks("alice"), waits("alice", "human")];

test.each<[string, NewFact[], boolean]>([
  ["nobody asks", [waits("coordinator", "news")], false],
  ["all wait for the answer", asked, true],
  ["somebody still works", [...asked, busy("bob")], false],
  ["somebody waits for a rate limit", [...asked, waits("bob", "rate_limit")], false],
  [
    "somebody who was let go still works",
    [...asked, busy("bob"), { type: "worker.retired", data: { worker_id: "bob" } }],
    false,
  ],
  ["mail is on its way to somebody who waits for news", [...asked, mail("coordinator")], false],
  ["mail waits for the human, or for who asks", [...asked, mail("human"), mail("alice")], true],
  ["another question has a deadline", [...asked, asks("bob", { deadline_ts: 99 }), waits("bob", "human")], false],
  [
    "an answer was given and not yet taken up",
    [
      ...asked,
      asks("bob"),
      waits("bob", "human"),
      {
        type: "human.response",
        data: { question_id: "question-bob", worker_id: "bob", text: "Blue", channel: "terminal" },
      },
    ],
    false,
  ],
  ["it was stopped", [...asked, { type: "agent.stopped", data: { by: "human" } }], false],
])("%s", (_, facts, parked) => {
  expect(isParked(after(...facts))).toBe(parked);
});
