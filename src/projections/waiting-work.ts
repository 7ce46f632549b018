import type { NodeId, RunId, WorkerId } from "../protocol/index.ts";
import type { Board, NodeState } from "./node-state.ts";

/**
 * An index of a board: which nodes are open, which are ready and who completed which. The cost of a query depends on
 * the size of the answer, not on the number of nodes.
 *
 * WAITING-1. It is derived: rebuilt from a board, it is the same. So it is not part of a snapshot or of any state, and
 *     is dropped with its board.
 * WAITING-2. Lists of ready nodes are in the order in which the nodes were created.
 */
export interface WaitingWork {
  open: Set<NodeId>;
  /** Those of them that have a share of the budget of their own. */
  shares: Set<NodeId>;
  /** How many of them belong to each stage. */
  openInStage: Map<number, number>;
  /** Ready, and anybody may take it. */
  free: NodeId[];
  /** Ready, and kept for one worker. */
  reserved: Map<WorkerId, NodeId[]>;
  /** In the order in which they were completed. */
  completedBy: Map<WorkerId, NodeId[]>;
}

interface Index {
  runs: Map<RunId, WaitingWork>;
  /** Which nodes wait for each one that is not completed. */
  waitedForBy: Map<NodeId, NodeId[]>;
  /** How many nodes a pending node waits for. */
  waitsFor: Map<NodeId, number>;
}

const indexes = new WeakMap<Board, Index>();

export function waitingWork(board: Board, run: RunId): WaitingWork {
  return workOf(indexOf(board), run);
}

export function waitingRuns(board: Board): Iterable<WaitingWork> {
  return indexOf(board).runs.values();
}

/** Must be called for every change of a node, after the board has it. */
export function noteChange(board: Board, before: NodeState | undefined, after: NodeState): void {
  // Nobody has asked yet, or the board came from a snapshot: it is made when it is asked for.
  const index = indexes.get(board);
  if (!index) return;
  if (!before) {
    add(index, board, after);
    return;
  }
  if (after.status === "pending" && before.status !== "pending") {
    // Reopened: what it waits for may have ended meanwhile, or may never have been counted.
    for (const id of after.spec.dependencies) {
      const others = index.waitedForBy.get(id);
      if (others)
        index.waitedForBy.set(
          id,
          others.filter((each) => each !== after.id),
        );
    }
    add(index, board, after);
    return;
  }
  if (before.status === "pending") drop(readyListOf(workOf(index, before.spec.run_id), before), before.id);
  if (after.status === "pending" && (index.waitsFor.get(after.id) ?? 0) === 0) becomesReady(index, after);
  countOpen(workOf(index, after.spec.run_id), after);
  if (after.status === "completed" && before.status !== "completed") {
    noteCompleted(index, after);
    release(index, board, after.id);
  }
}

function indexOf(board: Board): Index {
  let index = indexes.get(board);
  if (!index) {
    index = { runs: new Map(), waitedForBy: new Map(), waitsFor: new Map() };
    indexes.set(board, index);
    for (const node of Object.values(board.nodes)) add(index, board, node);
    const completed = Object.values(board.nodes).filter((node) => node.status === "completed");
    for (const node of completed.sort((a, b) => a.ended_ts - b.ended_ts)) noteCompleted(index, node);
  }
  return index;
}

function noteCompleted(index: Index, { id, worker_id, spec }: Extract<NodeState, { status: "completed" }>): void {
  const { completedBy } = workOf(index, spec.run_id);
  const before = completedBy.get(worker_id);
  if (before) before.push(id);
  else completedBy.set(worker_id, [id]);
}

function add(index: Index, board: Board, node: NodeState): void {
  if (!isOpen(node)) return;
  countOpen(workOf(index, node.spec.run_id), node);
  if (node.status !== "pending") return;
  const waitsFor = node.spec.dependencies.filter((id) => board.nodes[id]?.status !== "completed");
  index.waitsFor.set(node.id, waitsFor.length);
  for (const id of waitsFor) {
    const others = index.waitedForBy.get(id);
    if (others) others.push(node.id);
    else index.waitedForBy.set(id, [node.id]);
  }
  if (waitsFor.length === 0) becomesReady(index, node);
}

function countOpen({ open, shares, openInStage }: WaitingWork, node: NodeState): void {
  const { id } = node;
  const { stage, budget_usd } = node.spec;
  const isNowOpen = isOpen(node);
  if (isNowOpen === open.has(id)) return;
  if (isNowOpen) open.add(id);
  else open.delete(id);
  if (isNowOpen && budget_usd !== undefined) shares.add(id);
  else shares.delete(id);
  if (stage !== undefined) openInStage.set(stage, (openInStage.get(stage) ?? 0) + (isNowOpen ? 1 : -1));
}

function isOpen({ status }: NodeState): boolean {
  return status !== "completed" && status !== "failed" && status !== "cancelled";
}

function release(index: Index, board: Board, completed: NodeId): void {
  for (const id of index.waitedForBy.get(completed) ?? []) {
    const left = (index.waitsFor.get(id) ?? 1) - 1;
    index.waitsFor.set(id, left);
    const node = board.nodes[id];
    if (left === 0 && node?.status === "pending") becomesReady(index, node);
  }
  index.waitedForBy.delete(completed);
}

function becomesReady(index: Index, node: NodeState): void {
  if (node.held) return;
  const list = readyListOf(workOf(index, node.spec.run_id), node);
  list.splice(placeOf(list, node.id), 0, node.id);
}

function drop(list: NodeId[], id: NodeId): void {
  // Nearly always it is the oldest that is taken, and `shift` moves nobody.
  if (list[0] === id) {
    list.shift();
    return;
  }
  const at = placeOf(list, id);
  if (list[at] === id) list.splice(at, 1);
}

/** Where the node is in the list, or belongs: ids count up in the order in which nodes are made. */
function placeOf(list: readonly NodeId[], id: NodeId): number {
  const number = numberOf(id);
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (numberOf(list[middle] ?? id) < number) from = middle + 1;
    else to = middle;
  }
  return from;
}

export function numberOf(id: NodeId): number {
  return Number(id.slice("node-".length));
}

function readyListOf({ free, reserved }: WaitingWork, { reserved_for }: NodeState): NodeId[] {
  if (reserved_for === null) return free;
  const known = reserved.get(reserved_for);
  if (known) return known;
  const list: NodeId[] = [];
  reserved.set(reserved_for, list);
  return list;
}

function workOf({ runs }: Index, run: RunId): WaitingWork {
  let work = runs.get(run);
  if (!work) {
    const lists = { free: [], reserved: new Map(), completedBy: new Map() };
    work = { open: new Set(), shares: new Set(), openInStage: new Map(), ...lists };
    runs.set(run, work);
  }
  return work;
}
