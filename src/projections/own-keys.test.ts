import { expect, test } from "vitest";
import type { Fact } from "../protocol/index.ts";
import { apply, begin, type Situation, withOwnKeys } from "./situation.ts";

/** What every plain object inherits, as somebody may name a worker, a question or a trigger. */
const NAMES = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"];

const born = {
  seq: 1,
  ts: 1,
  agent_id: "agent-abcd",
  type: "agent.created",
  data: { name: "a", goal: "g", model: "m", worker_model: "m", mode: "finite", project: null },
} as unknown as Fact;

const kinds: { how: string; made: () => Situation }[] = [
  { how: "folded", made: () => begin(born) },
  { how: "read from a snapshot", made: () => withOwnKeys(JSON.parse(JSON.stringify(begin(born)))) },
  { how: "cloned", made: () => withOwnKeys(structuredClone(begin(born))) },
];

test.each(kinds)("nobody is found under a name that every object has: $how", ({ made }) => {
  const now = made();
  const { agent, attention, board, insights, letters, outbox, outside, questions, spending, triggers } = now;
  const maps: object[] = [
    ...[agent.goals, attention.unread, board.nodes, insights.open, letters.queued, letters.lastBetween, outbox.open],
    ...[outside.sessions, outside.permitted, questions.open, questions.answered, now.roster, spending.by_worker],
    ...[triggers.open, triggers.undone, triggers.matches, now.troubles, now.mesh_ends],
  ];
  for (const map of maps) for (const name of NAMES) expect(Reflect.get(map, name)).toBeUndefined();
});

test.each(NAMES)("a worker and a question called %s are there once, also after a snapshot", (name) => {
  const now = begin(born);
  const fact = (seq: number, type: string, data: object) =>
    apply(now, { seq, ts: seq, agent_id: "agent-abcd", type, data } as unknown as Fact);
  fact(2, "worker.spawned", { worker_id: name, run_id: "run-1", name, kind: "harnessed", model: "m" });
  fact(3, "human.question", { question_id: name, worker_id: name, node_id: null, call_id: "c", text: "?" });
  const again = withOwnKeys(JSON.parse(JSON.stringify(now)) as Situation);
  for (const each of [now, again]) {
    expect([Object.keys(each.roster), Object.keys(each.questions.open)]).toEqual([[name], [name]]);
    expect(each.questions.open[name]?.text).toBe("?");
    expect(each.roster[name]?.spawned.name).toBe(name);
  }
});
