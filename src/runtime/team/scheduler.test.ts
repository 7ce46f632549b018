import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { apply, begin, readyNodes, type Situation } from "../../projections/index.ts";
import { COORDINATOR, type Fact, HUMAN, type NewFact, type NodeId, workerIdSchema } from "../../protocol/index.ts";
import { assignments } from "./scheduler.ts";

const run_id = "run-1" as const;
const NAMES = ["alice", "bob", "carol", "david"];

function situationAfter(facts: NewFact[]): Situation {
  const created: NewFact = {
    type: "agent.created",
    data: {
      name: "a",
      goal: "",
      mode: "finite",
      model: "x/y",
      worker_model: "x/y",
      budget_usd: null,
      project: null,
      tools: null,
    },
  };
  const all: NewFact[] = [created, { type: "run.started", data: { run_id, goal: "" } }, ...facts];
  const [first, ...rest] = all.map((fact, at) => ({ seq: at + 1, agent_id: "agent-test", ts: at, ...fact }) as Fact);
  if (!first) throw new Error("There is always a first fact.");
  const now = begin(first);
  for (const fact of rest) {
    apply(now, fact);
    assignments(now, { maxConcurrent: 4, programs }); // asked all along, as at work
  }
  return now;
}

const programs = { programFor: () => undefined, kindOf: () => undefined };

const hired = (worker_id: string): NewFact => ({
  type: "worker.spawned",
  data: { run_id, worker_id, name: worker_id, kind: "harnessed", model: "x/y" },
});
const made = (number: number, ...dependencies: NodeId[]): NewFact => ({
  type: "node.created",
  data: {
    run_id,
    node_id: `node-${number}`,
    task: "",
    inference: "multi",
    dependencies,
    refs: {},
    deliverables: [],
    parent_node_id: null,
    created_by: COORDINATOR,
  },
});
const kept = (number: number, worker_id: string): NewFact => ({
  type: "node.reserved",
  data: { node_id: `node-${number}`, worker_id },
});

function takers(now: Situation, maxConcurrent: number): [NodeId, string][] {
  return assignments(now, { maxConcurrent, programs }).flatMap((fact) =>
    fact.type === "node.assigned" ? [[fact.data.node_id, fact.data.worker_id] as [NodeId, string]] : [],
  );
}

test("the oldest ready node goes first; who is wanted for a node is asked last for the others; then somebody is hired", () => {
  const now = situationAfter([
    ...["alice", "bob"].map(hired),
    made(1),
    made(2, "node-1"),
    made(3),
    kept(3, "alice"),
    made(4),
  ]);
  expect([1, 2, 3].map((most) => takers(now, most))).toEqual([
    [["node-1", "bob"]],
    [
      ["node-1", "bob"],
      ["node-3", "alice"],
    ],
    [
      ["node-1", "bob"],
      ["node-3", "alice"],
      ["node-4", "carol"],
    ],
  ]);
});

test("however many are hired, each has a person's name of their own", () => {
  const many = 120 + 2 * 16 * 120;
  const facts = assignments(situationAfter(Array.from({ length: many }, (_, at) => made(at + 1))), {
    maxConcurrent: many,
    programs,
  });
  const people = facts.flatMap((fact) => (fact.type === "worker.spawned" ? [fact.data] : []));
  expect(new Set(people.map((person) => person.worker_id)).size).toBe(many);
  expect(people.every((person) => workerIdSchema.safeParse(person.worker_id).success)).toBe(true);
  expect([0, 39, 40, 119, 120, 121, 120 + 16 * 120].map((at) => people[at]?.name)).toEqual([
    "Alice",
    "Nora",
    "Omar",
    "Xavier",
    "Alice Archer",
    "Bob Archer",
    "Alice Archer 2",
  ]);
});

const teams = fc.record({
  nodes: fc.array(
    fc.record({ worker: fc.option(fc.constantFrom(...NAMES)), ended: fc.boolean(), after: fc.option(fc.nat(20)) }),
    { maxLength: 20 },
  ),
  busy: fc.subarray(NAMES),
  maxConcurrent: fc.integer({ min: 1, max: 8 }),
});

test("nobody begins while the coordinator decides after a stop", () => {
  const now = situationAfter([hired("alice"), made(1), { type: "agent.resumed", data: { coordinator_decides: true } }]);
  expect(assignments(now, { maxConcurrent: 4, programs })).toEqual([]);
});

describe("SCHEDULER-4. not_by", () => {
  const review = (number: number, ...not_by: string[]): NewFact => {
    const { data } = made(number) as Extract<NewFact, { type: "node.created" }>;
    return { type: "node.created", data: { ...data, not_by } };
  };
  const who = (worker_id: string) => ({ node_id: "node-1" as const, worker_id });
  const worksOn = (worker_id: string): NewFact[] => [
    { type: "node.assigned", data: who(worker_id) },
    { type: "worker.busy", data: who(worker_id) },
  ];
  const handed = (from: string, to: string): NewFact[] => [
    { type: "node.reopened", data: { node_id: "node-1", reserved_for: to, why: "reassigned", from, by: COORDINATOR } },
    { type: "worker.idle", data: { worker_id: from } },
  ];
  const completed = (worker_id: string): NewFact[] => [
    { type: "node.completed", data: { ...who(worker_id), summary: "" } },
    { type: "worker.idle", data: { worker_id } },
  ];

  test("everybody who had the node is its author, not only the last two", () => {
    const now = situationAfter([
      ...["alice", "bob", "carol"].map(hired),
      made(1),
      ...worksOn("alice"),
      ...handed("alice", "bob"),
      ...worksOn("bob"),
      ...handed("bob", "carol"),
      ...worksOn("carol"),
      ...completed("carol"),
      review(2, "node-1"),
    ]);
    expect(takers(now, 4)).toEqual([["node-2", "david"]]);
  });

  test("a reservation for one who is barred holds only where a person made it, or is meant by it", () => {
    const barred = [hired("alice"), made(1), ...worksOn("alice"), ...completed("alice"), review(2, "node-1")];
    const reserved = (by?: string): NewFact => ({
      type: "node.reserved",
      data: { node_id: "node-2", worker_id: "alice", ...(by && { by }) },
    });
    expect([undefined, COORDINATOR, HUMAN].map((by) => takers(situationAfter([...barred, reserved(by)]), 4))).toEqual([
      [["node-2", "bob"]],
      [["node-2", "bob"]],
      [["node-2", "alice"]],
    ]);
    const human: NewFact = {
      type: "worker.spawned",
      data: { run_id, worker_id: HUMAN, name: "Human", kind: "human", model: "human" },
    };
    const theirs = situationAfter([
      human,
      made(1),
      ...worksOn(HUMAN),
      ...completed(HUMAN),
      review(2, "node-1"),
      kept(2, HUMAN),
    ]);
    expect(takers(theirs, 4)).toEqual([["node-2", HUMAN]]);
  });

  test("what a person decided holds when the node is reopened for the same worker, and not for another", () => {
    const reopened = (reserved_for: string | null): NewFact => ({
      type: "node.reopened",
      data: { node_id: "node-2", reserved_for, why: "more_money" },
    });
    const before: NewFact[] = [
      ...["alice", "bob"].map(hired),
      made(1),
      ...worksOn("alice"),
      ...handed("alice", "bob"),
      ...worksOn("bob"),
      ...completed("bob"),
      review(2, "node-1"),
      { type: "node.reserved", data: { node_id: "node-2", worker_id: "alice", by: HUMAN } },
      { type: "node.assigned", data: { node_id: "node-2", worker_id: "alice" } },
      {
        type: "node.failed",
        data: { node_id: "node-2", worker_id: "alice", outcome: { kind: "budget_exhausted", spent_usd: 1 } },
      },
    ];
    expect(["alice", "bob", null].map((to) => takers(situationAfter([...before, reopened(to)]), 4))).toEqual([
      [["node-2", "alice"]],
      [["node-2", "carol"]],
      [["node-2", "carol"]],
    ]);
  });
});

test("whoever is asked, the answer is that of going through the whole board", () => {
  fc.assert(
    fc.property(teams, ({ nodes, busy, maxConcurrent }) => {
      const facts = nodes.flatMap(({ worker, ended, after }, at): NewFact[] => {
        const dependencies: NodeId[] = after !== null && at > 0 ? [`node-${(after % at) + 1}`] : [];
        const node_id: NodeId = `node-${at + 1}`;
        return [
          made(at + 1, ...dependencies),
          ...(worker ? [kept(at + 1, worker)] : []),
          ...(ended
            ? [{ type: "node.completed" as const, data: { node_id, worker_id: worker ?? "bob", summary: "" } }]
            : []),
        ];
      });
      const working = busy.flatMap((worker_id, at): NewFact[] => {
        const who = { node_id: `node-${100 + at}` as NodeId, worker_id };
        return [made(100 + at), { type: "node.assigned", data: who }, { type: "worker.busy", data: who }];
      });
      const now = situationAfter([...NAMES.map(hired), ...facts, ...working]);
      expect(takers(now, maxConcurrent)).toEqual(takersByLooking(now, busy, maxConcurrent));
    }),
  );
});

function takersByLooking(now: Situation, busy: string[], maxConcurrent: number): [NodeId, string][] {
  const ready = readyNodes(now.board);
  const idle = NAMES.filter((name) => !busy.includes(name));
  const isWanted = (name: string) => ready.some((node) => node.reserved_for === name);
  const free = [...idle.filter((name) => !isWanted(name)), ...idle.filter(isWanted)];
  const unknown = ["erin", "frank", "grace", "henry", "iris", "jack", "kate", "leo"];
  const taken: [NodeId, string][] = [];
  for (const { id, reserved_for } of ready) {
    if (taken.length + busy.length >= maxConcurrent) break;
    const taker = reserved_for ? free.find((name) => name === reserved_for) : (free[0] ?? unknown.shift());
    if (!taker) continue;
    if (free.includes(taker)) free.splice(free.indexOf(taker), 1);
    taken.push([id, taker]);
  }
  return taken;
}
