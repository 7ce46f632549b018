import { dict } from "../protocol/dict.ts";
import { COORDINATOR, type Fact, type FactOf, type NodeId, type RunId, type WorkerId } from "../protocol/index.ts";
import {
  type Board,
  type ChangeableSpec,
  hasEnded,
  type NodeBase,
  type NodeEnd,
  type NodeState,
} from "./node-state.ts";
import { noteChange, numberOf, waitingRuns, waitingWork } from "./waiting-work.ts";

export function emptyBoard(): Board {
  return { nodes: dict() };
}

export function applyToBoard(board: Board, fact: Fact): void {
  if (fact.type === "node.created") {
    const { node_id, parent_node_id } = fact.data;
    board.nodes[node_id] = {
      id: node_id,
      spec: fact.data,
      created_ts: fact.ts,
      children: [],
      reserved_for: null,
      authors: [],
      failures: 0,
      spent_usd: 0,
      facts: 1,
      last_seq: fact.seq,
      status: "pending",
      ...(fact.data.held && { held: true }),
    };
    if (parent_node_id) board.nodes[parent_node_id]?.children.push(node_id);
    noteChange(board, undefined, board.nodes[node_id]);
    return;
  }
  const id = "node_id" in fact.data ? fact.data.node_id : null;
  const node = id ? board.nodes[id] : undefined;
  if (!node) return;
  node.last_seq = fact.seq;
  node.facts += 1;
  if (fact.type === "model.responded" && fact.data.cost_usd) charge(board, node, fact.data.cost_usd);
  const next = nextStateOf(node, fact);
  if (!next) return;
  board.nodes[node.id] = next;
  noteChange(board, node, next);
}

function nextStateOf(node: NodeState, fact: Fact): NodeState | undefined {
  switch (fact.type) {
    case "node.reserved":
      return node.status === "pending"
        ? { ...lastingOf(node), ...heldOf(node), ...reserved(fact.data.worker_id, fact.data.by), status: "pending" }
        : undefined;
    case "node.released":
      return node.status === "pending" ? { ...baseOf(node), status: "pending" } : undefined;
    case "node.retried":
      return { ...baseOf(node), ...assignedIn(node, fact), failures: node.failures + 1, status: "assigned" };
    case "node.assigned": {
      const { worker_id } = fact.data;
      const authors = node.authors.includes(worker_id) ? node.authors : [...node.authors, worker_id];
      return { ...baseOf(node), authors, status: "assigned", worker_id, assigned_seq: fact.seq };
    }
    case "node.started":
      return { ...baseOf(node), ...assignedIn(node, fact), status: "running", started_ts: fact.ts };
    case "node.published": {
      const { worker_id, summary, files, partial = null } = fact.data;
      return { ...baseOf(node), status: "publishing", worker_id, summary, files, partial };
    }
    case "node.completed": {
      const { summary } = fact.data;
      return { ...baseOf(node), ...endedIn(node, fact), status: "completed", summary };
    }
    case "node.failed": {
      const { outcome } = fact.data;
      // An end from outside does not release it: reopened, it still waits for that.
      return { ...baseOf(node), ...heldOf(node), ...endedIn(node, fact), status: "failed", outcome };
    }
    case "node.cancelled": {
      const { by, reason } = fact.data;
      return { ...baseOf(node), ...heldOf(node), ...cancelledIn(node, fact), status: "cancelled", by, reason };
    }
    case "node.updated": {
      const { spec, asked_before = [] } = node;
      return { ...node, spec: updatedSpec(spec, fact.data), asked_before: [...asked_before, askedIn(spec)] };
    }
    case "node.reopened":
      return reopenedIn({ ...baseOf(node), ...heldOf(node) }, fact);
    default:
      return undefined;
  }
}

/** What a node keeps in every state, and for whom it is kept. */
function baseOf(node: NodeState): NodeBase {
  const base: NodeBase = { ...lastingOf(node), reserved_for: node.reserved_for };
  if (node.reserved_by !== undefined) base.reserved_by = node.reserved_by;
  return base;
}

/** What a node keeps in every state, whoever it is kept for. */
function lastingOf(node: NodeState): Lasting {
  const { id, spec, created_ts, children, authors, failures, spent_usd, facts, last_seq } = node;
  const lasting: Lasting = { id, spec, created_ts, children, authors, failures, spent_usd, facts, last_seq };
  // Few nodes have these, and a spread of nothing costs too.
  if (node.reopened) lasting.reopened = node.reopened;
  if (node.handed) lasting.handed = node.handed;
  if (node.asked_before) lasting.asked_before = node.asked_before;
  return lasting;
}

type Lasting = Omit<NodeBase, "reserved_for" | "reserved_by" | "held">;

function heldOf({ held }: NodeState): Pick<NodeBase, "held"> {
  return held ? { held } : {};
}

function reserved(reserved_for: WorkerId | null, reserved_by: WorkerId | undefined) {
  return { reserved_for, ...(reserved_by !== undefined && { reserved_by }) };
}

/**
 * A node that goes to another worker has no failed tries. One that is kept for the same worker keeps who assigned it.
 */
function reopenedIn({ reserved_by, ...base }: NodeBase, { data }: FactOf<"node.reopened">): NodeState {
  const { reserved_for, why, from, did = "", by } = data;
  const handed = why === "reassigned" && from !== undefined ? { handed: { from, did }, failures: 0 } : {};
  const isSame = reserved_for !== null && reserved_for === base.reserved_for;
  const now = reserved(reserved_for, by ?? (isSame ? reserved_by : undefined));
  return { ...base, ...handed, ...now, status: "pending", reopened: true };
}

function askedIn({ task, deliverables, checks }: NodeBase["spec"]): ChangeableSpec {
  return { task, deliverables, ...(checks && { checks }) };
}

/** Beginning, or beginning again, is still the same assignment. */
function assignedIn(node: NodeState, { seq, data }: FactOf<"node.started" | "node.retried">) {
  const assigned_seq = "assigned_seq" in node ? node.assigned_seq : seq;
  return { worker_id: data.worker_id, assigned_seq };
}

function endedIn(node: NodeState, { seq, ts, data }: FactOf<"node.completed" | "node.failed">): NodeEnd {
  const files = node.status === "publishing" ? node.files : [];
  return { worker_id: data.worker_id, files, ended_ts: ts, ended_seq: seq, unheard: data.unheard ?? [] };
}

/** What was published of it, as a part, stays published. */
function cancelledIn(node: NodeState, { seq, ts }: FactOf<"node.cancelled">): NodeEnd {
  const worker_id = "worker_id" in node ? node.worker_id : COORDINATOR;
  return { worker_id, files: hasEnded(node) ? node.files : [], ended_ts: ts, ended_seq: seq, unheard: [] };
}

function updatedSpec(
  { checks: before, ...spec }: NodeBase["spec"],
  { task = spec.task, deliverables = spec.deliverables, checks = before }: FactOf<"node.updated">["data"],
): NodeBase["spec"] {
  return { ...spec, task, deliverables, ...(checks && checks.length > 0 && { checks }) };
}

/** What a node spends, the nodes above it have spent too. */
function charge(board: Board, node: NodeState, usd: number): void {
  for (let each: NodeState | undefined = node; each; ) {
    each.spent_usd += usd;
    each = each.spec.parent_node_id ? board.nodes[each.spec.parent_node_id] : undefined;
  }
}

/** Pending nodes whose dependencies are all completed, oldest first. */
export function readyNodes(board: Board): NodeState[] {
  const ids = [...waitingRuns(board)].flatMap(({ free, reserved }) => [...free, ...[...reserved.values()].flat()]);
  return nodesOf(
    board,
    ids.sort((a, b) => numberOf(a) - numberOf(b)),
  );
}

/** A name may be made up: returns only nodes that exist. */
export function nodeNamed(board: Board, name: string): NodeState | undefined {
  return Object.hasOwn(board.nodes, name) ? board.nodes[name as NodeId] : undefined;
}

/** Nodes of a run that have not ended. */
export function openNodes(board: Board, run: RunId): NodeState[] {
  return nodesOf(board, [...waitingWork(board, run).open]);
}

function nodesOf(board: Board, ids: readonly NodeId[]): NodeState[] {
  return ids.flatMap((id) => board.nodes[id] ?? []);
}

/** The whole board in words, for people. */
export function describeBoard(board: Board, run?: RunId): string {
  const lines = Object.values(board.nodes)
    .filter((node) => run === undefined || node.spec.run_id === run)
    .map(lineFor);
  return lines.length > 0 ? lines.join("\n") : "The board is empty.";
}

/** How many nodes, or workers, are shown at once: more would fill the reader's context. */
export const PAGE = 60;

/**
 * The board in words for the coordinator, at most one page: from a given node on, or the open nodes and then the newest
 * of the others.
 */
export function describePage(board: Board, run: RunId | undefined, from?: number): string {
  const nodes = Object.values(board.nodes).filter((node) => run === undefined || node.spec.run_id === run);
  if (from === undefined && nodes.length <= PAGE) return describeBoard(board, run);
  if (from !== undefined) {
    const after = nodes.filter((node) => numberOf(node.id) >= from);
    const next = after[PAGE];
    const more = next ? [`… ${after.length - PAGE} more: check_board with from: ${numberOf(next.id)}.`] : [];
    return after.length > 0
      ? [...after.slice(0, PAGE).map(lineFor), ...more].join("\n")
      : `There is no node-${from} or later.`;
  }
  const telling = [...nodes.filter((node) => !hasEnded(node)), ...nodes.filter(hasEnded).reverse()].slice(0, PAGE);
  const shown = telling.sort((a, b) => numberOf(a.id) - numberOf(b.id)).map(lineFor);
  return [...shown, `… ${nodes.length - PAGE} more: check_board with from: 1 shows them from the first on.`].join("\n");
}

function lineFor(node: NodeState): string {
  return `- ${node.id} [${node.status}] ${firstLine(node.spec.task)}${detailOf(node)}`;
}

function detailOf(node: NodeState): string {
  switch (node.status) {
    case "completed":
      return ` — ${node.worker_id}: ${firstLine(node.summary)}`;
    case "failed":
      return ` — ${node.worker_id}: ${"error" in node.outcome ? firstLine(node.outcome.error) : node.outcome.kind}`;
    case "cancelled":
      return ` — ${firstLine(node.reason)}`;
    case "pending":
      return "";
    default:
      return ` — ${node.worker_id}`;
  }
}

function firstLine(text: string): string {
  const line = text.split("\n", 1)[0] ?? "";
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}
