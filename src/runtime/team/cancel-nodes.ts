import { hasEnded, type NodeState, waitingFor } from "../../projections/index.ts";
import {
  COORDINATOR,
  callsOf,
  type Entry,
  HUMAN,
  type NewFact,
  type NodeId,
  type ResultEntry,
  type StoredEntry,
  type WorkerId,
} from "../../protocol/index.ts";
import { conversationFile } from "../../store/paths.ts";
import type { ConversationEntries } from "../../store/store.ts";
import { entriesOn, lastNodeIn } from "../../workers/loop/past.ts";
import { gistOfText } from "../../workers/loop/recorded-loop.ts";
import { freedFrom, isTaken } from "../state/taken-node.ts";
import { record, type TeamPorts } from "./team-ports.ts";

/** The result: which nodes are cancelled, and which now wait for one of them. */
export interface Cancelled {
  nodes: NodeId[];
  waiting: NodeId[];
}

/**
 * Ends nodes that are no longer needed, each with everything below it.
 *
 * CANCEL-1. Workers on these nodes are stopped first, then everything is one append: a crash in between changes
 *     nothing.
 * CANCEL-2. A node that is completed meanwhile stays completed, and so do those below it.
 * CANCEL-3. Files stay as they are. What depends on a cancelled node waits and is never begun.
 */
export async function cancelNodes(
  ids: readonly NodeId[],
  by: string,
  reason: string,
  ports: TeamPorts,
): Promise<Cancelled> {
  const stopped: Stopped = new Map();
  let nodes: NodeState[] = [];
  let left: Left[] = [];
  do {
    const family: NodeState[] = [];
    for (const id of ids) family.push(...(await stopFamily(id, stopped, ports)));
    // One that is named may also be below another that is.
    const once = [...new Map(family.map((node) => [node.id, node])).values()];
    left = await Promise.all(once.filter(isTaken).map((node) => leftBy(node, by, reason, ports)));
    // Meanwhile somebody may have ended, or begun with one of them.
    nodes = once.flatMap(({ id }) => ports.pending().board.nodes[id] ?? []);
  } while (nodes.some((node) => isTaken(node) && stopped.get(node.id) !== node.worker_id));
  const gone = nodes.filter((node) => !hasEnded(node) || (node.status === "failed" && ids.includes(node.id)));
  if (gone.length === 0) return { nodes: [], waiting: [] };
  const theirs = left.filter(({ id }) => gone.some((node) => node.id === id && isTaken(node)));
  const facts = [...gone.map((node) => cancelled(node, ids, by, reason)), ...theirs.flatMap((each) => each.facts)];
  await record(ports, facts, { otherEntries: theirs.flatMap(({ said }) => said) });
  await Promise.allSettled(gone.filter(isTaken).map((node) => withdraw(node, ports)));
  const cancelledIds = gone.map(({ id }) => id);
  return { nodes: cancelledIds, waiting: waitingFor(cancelledIds, ports.pending().board) };
}

/** Nodes that nobody works on any more, with who did. */
type Stopped = Map<NodeId, WorkerId>;

/** From the top down, so that nobody adds to what is below; the lowest first, so that nobody hears of each part. */
async function stopFamily(id: NodeId, stopped: Stopped, ports: TeamPorts, isBelow = false): Promise<NodeState[]> {
  const before = ports.pending().board.nodes[id];
  if (before && isTaken(before)) {
    await ports.stopWork(id);
    stopped.set(id, before.worker_id);
  }
  const node = ports.pending().board.nodes[id];
  if (!node || (node.status === "completed" && !isBelow)) return [];
  const below: NodeState[] = [];
  for (const child of node.children) below.push(...(await stopFamily(child, stopped, ports, true)));
  return hasEnded(node) && isBelow ? below : [...below, node];
}

function cancelled({ id }: NodeState, named: readonly NodeId[], by: string, reason: string): NewFact {
  const why = named.includes(id) ? reason : `It is part of ${named.join(", ")}: ${reason}`;
  return { type: "node.cancelled", data: { node_id: id, by, reason: why } };
}

interface Left {
  id: NodeId;
  facts: NewFact[];
  said: ConversationEntries[];
}

/** Who had it is free, and reads why in their conversation. */
async function leftBy(
  { id, spec, worker_id }: NodeState & { worker_id: WorkerId },
  by: string,
  reason: string,
  { log, pending }: TeamPorts,
): Promise<Left> {
  const file = conversationFile(spec.run_id, worker_id);
  const idle = freedFrom(id, worker_id, pending().board);
  const stored = worker_id === HUMAN ? [] : await log.conversation(file);
  if (lastNodeIn(stored) !== id) return { id, facts: [idle], said: [] };
  const cutOff = cutOffCalls(id, worker_id, stored, "Outcome unknown: the node was cancelled while this ran.");
  const name = by === HUMAN ? "your human" : (pending().roster[by]?.spawned.name ?? by);
  const told: Entry = { role: "user", from: "agiraph", content: `${id} was cancelled by ${name}: ${reason}` };
  return { id, facts: [...cutOff.facts, idle], said: [{ file, entries: [...cutOff.entries, told] }] };
}

/** Calls that had begun when they were stopped and will never be answered: the next worker on the node is told. */
export function cutOffCalls(
  node_id: NodeId,
  worker_id: WorkerId,
  stored: readonly StoredEntry[],
  content: string,
): { facts: NewFact[]; entries: ResultEntry[] } {
  const words = lastNodeIn(stored) === node_id ? entriesOn(stored, node_id) : [];
  const answered = new Set(words.flatMap((entry) => (entry.role === "tool" ? entry.call_id : [])));
  const entries = words
    .flatMap((entry) => (entry.role === "assistant" ? callsOf(entry) : []))
    .filter(({ id }) => !answered.has(id))
    .map(({ id, name }): ResultEntry => ({ role: "tool", call_id: id, tool: name, ok: false, content }));
  const facts = entries.map(({ call_id, tool, ok }): NewFact => {
    const result = { call_id, tool, ok, ms: 0, gist: gistOfText(content) };
    return { type: "tool.result", data: { worker_id, node_id, ...result } };
  });
  return { facts, entries };
}

/** A mesh lives by itself: it is told that its task is not wanted any more. */
async function withdraw({ id, worker_id }: NodeState & { worker_id: WorkerId }, ports: TeamPorts): Promise<void> {
  const worker = ports.pending().roster[worker_id];
  if (worker && worker_id !== COORDINATOR) await ports.outside.ended?.(worker.spawned, id, "cancelled");
}

/** The answer to the one who asked for it. */
export function cancelledWords(id: NodeId, { nodes, waiting }: Cancelled): string {
  const below = nodes.filter((each) => each !== id);
  const parts = below.length > 0 ? `, with ${below.join(", ")}` : "";
  return `${id} is cancelled${parts}.${stillWaitingWords(waiting)}`;
}

function stillWaitingWords(waiting: readonly NodeId[]): string {
  if (waiting.length === 0) return "";
  return waiting.length === 1
    ? ` ${waiting[0]} depends on it and will not begin: cancel it too, or create it anew without.`
    : ` ${waiting.join(", ")} depend on it and will not begin: cancel them too, or create them anew without.`;
}
