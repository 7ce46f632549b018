import fc from "fast-check";
import { expect, test } from "vitest";
import type { Fact, NewFact, NodeId, RunId } from "../protocol/index.ts";
import { applyToBoard, emptyBoard, openNodes, readyNodes } from "./board.ts";
import type { Board } from "./node-state.ts";
import { waitingWork } from "./waiting-work.ts";

const RUNS: RunId[] = ["run-1", "run-2"];

/** Something that may happen on a board: to which node, and what. */
const happening = fc.record({
  what: fc.constantFrom(
    "create",
    "create",
    "reserve",
    "assign",
    "start",
    "complete",
    "fail",
    "retry",
    "reopen",
    "restart",
  ),
  node: fc.nat(30),
  worker: fc.constantFrom("alice", "bob"),
  run: fc.constantFrom(...RUNS),
  dependencies: fc.uniqueArray(fc.nat(30), { maxLength: 3 }),
});
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

test("what is ready and what is open is the same however it was come by: asked all along, or of a board from a snapshot", () => {
  fc.assert(
    fc.property(fc.array(happening, { minLength: 20, maxLength: 80 }), (story) => {
      let board = emptyBoard();
      let ts = 0;
      for (const each of story) {
        // A new process finds the board in a snapshot, and goes on from there.
        if (each.what === "restart") board = structuredClone(board);
        const fact = factOf(each, board);
        if (!fact) continue;
        applyToBoard(board, { seq: 1, agent_id: "agent-test", ts: ++ts, ...fact } as Fact);
        expect(idsOf(readyNodes(board))).toEqual(readyByLooking(board));
        expect(idsOf(readyNodes(structuredClone(board)))).toEqual(readyByLooking(board));
        for (const run of RUNS) {
          expect(new Set(idsOf(openNodes(board, run)))).toEqual(openByLooking(board, run));
          expect(completedBy(board, run)).toEqual(completedBy(structuredClone(board), run));
          expect(waitingWork(board, run).openInStage.get(1) ?? 0).toBe(openByLooking(board, run).size);
        }
      }
    }),
  );
});

function factOf({ what, node, worker, run, dependencies }: Happening, board: Board): NewFact | undefined {
  const there = Object.keys(board.nodes) as NodeId[];
  if (what === "create") {
    const after = [...new Set(dependencies.flatMap((at) => there[at % there.length] ?? []))];
    const base = { run_id: run, inference: "multi" as const, refs: {}, deliverables: [], parent_node_id: null };
    const node_id: NodeId = `node-${there.length + 1}`;
    return {
      type: "node.created",
      data: { ...base, node_id, task: "", stage: 1, dependencies: after, created_by: "coordinator" },
    };
  }
  if (what === "restart") return undefined;
  const node_id = there[node % Math.max(1, there.length)];
  // What is completed stays so.
  if (!node_id || board.nodes[node_id]?.status === "completed") return undefined;
  const who = { node_id, worker_id: worker };
  switch (what) {
    case "reserve":
      return { type: "node.reserved", data: who };
    case "assign":
      return { type: "node.assigned", data: who };
    case "start":
      return { type: "node.started", data: who };
    case "retry":
      return { type: "node.retried", data: { ...who, error: "" } };
    case "reopen":
      if (board.nodes[node_id]?.status !== "failed") return undefined;
      return { type: "node.reopened", data: { node_id, reserved_for: worker === "bob" ? worker : null } };
    case "complete":
      return { type: "node.completed", data: { ...who, summary: "" } };
    default:
      return { type: "node.failed", data: { ...who, outcome: { kind: "stopped" } } };
  }
}

function readyByLooking(board: Board): NodeId[] {
  const ready = Object.values(board.nodes).filter(
    (node) =>
      node.status === "pending" && node.spec.dependencies.every((id) => board.nodes[id]?.status === "completed"),
  );
  return idsOf(ready);
}

function openByLooking(board: Board, run: RunId): Set<NodeId> {
  const open = Object.values(board.nodes).filter(
    (node) => node.spec.run_id === run && node.status !== "completed" && node.status !== "failed",
  );
  return new Set(idsOf(open));
}

function completedBy(board: Board, run: RunId): Record<string, NodeId[]> {
  return Object.fromEntries(waitingWork(board, run).completedBy);
}

function idsOf(nodes: readonly { id: NodeId }[]): NodeId[] {
  return nodes.map((node) => node.id);
}

test("who ends a held node from outside does not release it: reopened, it still waits for that", () => {
  const board = emptyBoard();
  const work = {
    ...{ run_id: "run-1" as const, inference: "multi" as const, refs: {}, deliverables: [], parent_node_id: null },
    ...{ stage: 1, task: "Wait", dependencies: [], created_by: "coordinator", held: true as const },
  };
  const who = { node_id: "node-1", worker_id: "coordinator" } as const;
  const facts: NewFact[] = [
    { type: "node.created", data: { node_id: "node-1", ...work } },
    { type: "node.failed", data: { ...who, outcome: { kind: "failed", error: "The run ended." } } },
    { type: "node.reopened", data: { node_id: "node-1", reserved_for: null, why: "more_money" } },
  ];
  for (const [at, fact] of facts.entries())
    applyToBoard(board, { seq: at + 1, agent_id: "agent-test", ts: at, ...fact } as Fact);
  expect([board.nodes["node-1"]?.held, readyNodes(board)]).toEqual([true, []]);
  applyToBoard(board, {
    seq: 4,
    agent_id: "agent-test",
    ts: 4,
    type: "node.released",
    data: { node_id: "node-1" },
  } as Fact);
  expect(idsOf(readyNodes(board))).toEqual(["node-1"]);
});
