import { expect, test } from "vitest";
import type { Fact, NewFact } from "../../../src/protocol/index.ts";
import { axisOf, drawnOf, periodsIn } from "./periods.ts";

const alice = { worker_id: "alice", node_id: "node-1" } as const;
const bob = { worker_id: "bob", node_id: "node-2" } as const;

test("whoever works, waits and asks has a stretch for each, and what has not ended lasts to the end", () => {
  const facts = at(
    [0, { type: "worker.busy", data: alice }],
    [4, { type: "worker.waiting", data: { ...alice, for: "human" } }],
    [5, { type: "worker.busy", data: bob }],
    [6, { type: "worker.waiting", data: { ...bob, for: "children" } }],
    [8, { type: "worker.idle", data: { worker_id: "alice" } }],
  );
  expect(periodsIn(facts, 10).map(({ worker, kind, from, to }) => [worker, kind, from, to])).toEqual([
    ["alice", "busy", 0, 4],
    ["bob", "busy", 5, 6],
    ["alice", "asking", 4, 8],
    ["bob", "waiting", 6, 10],
  ]);
});

test("a night in which nobody worked is a narrow gap, and time goes on to its right", () => {
  const facts = at(
    [0, { type: "worker.busy", data: alice }],
    [50, { type: "worker.idle", data: { worker_id: "alice" } }],
    [36_000, { type: "worker.busy", data: bob }],
    [36_050, { type: "worker.idle", data: { worker_id: "bob" } }],
  );
  const axis = axisOf(periodsIn(facts, 36_050));
  const place = (ts: number) => Math.round(axis.place(ts) * 100);
  expect([0, 50, 18_000, 36_000, 36_050].map(place)).toEqual([0, 49, 50, 51, 100]);
  expect(axis.breaks).toEqual([{ at: 0.5, seconds: 35_950 }]);
});

test("after a year of nights the work still has most of the room", () => {
  const days = Array.from({ length: 365 }, (_, day): [number, NewFact][] => [
    [day * 86_400, { type: "worker.busy", data: alice }],
    [day * 86_400 + 600, { type: "worker.idle", data: { worker_id: "alice" } }],
  ]).flat();
  const axis = axisOf(periodsIn(at(...days), 365 * 86_400));
  expect(axis.breaks.length).toBe(364);
  const aDay = axis.place(600) - axis.place(0);
  expect(aDay * 365).toBeCloseTo(0.8, 2);
});

test("a thousand short turns are drawn as the few stretches one can see", () => {
  const turns = Array.from({ length: 1000 }, (_, n): [number, NewFact][] => [
    [n * 2, { type: "worker.busy", data: alice }],
    [n * 2 + 1, { type: "worker.idle", data: { worker_id: "alice" } }],
  ]).flat();
  const periods = periodsIn(at(...turns), 2000);
  const drawn = drawnOf(periods, axisOf(periods));
  expect([periods.length, drawn.length < 510, drawn[0]?.from, drawn.at(-1)?.to]).toEqual([1000, true, 0, 1999]);
});

test("fifty workers with a thousand turns each are as few stretches as a page can hold, from the first to the last", () => {
  const turns = Array.from({ length: 50_000 }, (_, n): [number, NewFact][] => {
    const worker_id = `worker${n % 50}` as const;
    return [
      [n * 2, { type: "worker.busy", data: { worker_id, node_id: null } }],
      [n * 2 + 1, { type: "worker.idle", data: { worker_id } }],
    ];
  }).flat();
  const periods = periodsIn(at(...turns), 100_000);
  const drawn = drawnOf(periods, axisOf(periods));
  expect(new Set(drawn.map(({ worker }) => worker)).size).toBe(50);
  expect([drawn.length <= 1000, drawn[0]?.from, Math.max(...drawn.map(({ to }) => to))]).toEqual([true, 0, 99_999]);
});

test("a log that grew is followed from where it ended", () => {
  const facts = at(
    [0, { type: "worker.busy", data: alice }],
    [4, { type: "worker.waiting", data: { ...alice, for: "human" } }],
    [6, { type: "worker.busy", data: alice }],
    [7, { type: "agent.completed", data: { summary: "Done" } } as NewFact],
  );
  const log: Fact[] = [];
  const grown = facts.map((fact) => {
    log.push(fact);
    return periodsIn(log, 9).map(({ kind, to }) => [kind, to]);
  });
  expect(grown).toEqual([
    [["busy", 9]],
    [
      ["busy", 4],
      ["asking", 9],
    ],
    [
      ["busy", 4],
      ["asking", 6],
      ["busy", 9],
    ],
    [
      ["busy", 4],
      ["asking", 6],
      ["busy", 7],
    ],
  ]);
});

test("another log is followed from its beginning, also when it is the same agent's", () => {
  const lost = at([0, { type: "worker.busy", data: alice }], [4, { type: "worker.busy", data: bob }]);
  expect(periodsIn(lost, 5).map(({ worker }) => worker)).toEqual(["alice", "bob"]);
  expect(periodsIn(at([0, { type: "worker.busy", data: bob }]), 5).map(({ worker }) => worker)).toEqual(["bob"]);
});

function at(...facts: [ts: number, fact: NewFact][]): Fact[] {
  return facts.map(([ts, fact], index) => ({ ...fact, seq: index + 1, ts, agent_id: "agent-test" }) as Fact);
}
