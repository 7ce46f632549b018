import { hasEnded, isLost, type NodeState, type Situation, type WorkerState } from "../../projections/index.ts";
import { COORDINATOR, HUMAN, type NewFact, type StoredEntry, textOf, type WorkerId } from "../../protocol/index.ts";
import { conversationFile } from "../../store/paths.ts";
import { workerScope } from "../../store/scope/team-scopes.ts";
import type { Batch } from "../../store/store.ts";
import { entriesOn } from "../../workers/loop/past.ts";
import { givenUpWith } from "../state/budget-raise.ts";
import { freedFrom, isTaken } from "../state/taken-node.ts";
import { cutOffCalls } from "./cancel-nodes.ts";
import type { TeamPorts } from "./team-ports.ts";

type Begun = Extract<NodeState, { worker_id: WorkerId }>;

/** Why this node cannot be given to this worker, or nothing. */
export function problemAssigning(node: NodeState, worker: WorkerState, { board }: Situation): string | undefined {
  if (node.status === "completed") return `${node.id} is completed. Create a new node for what is still to be done.`;
  if (node.status === "publishing") return `${node.id} is being published; wait for its end.`;
  if (isTaken(node) && node.worker_id === worker.id) return `${node.id} is ${worker.spawned.name}'s already.`;
  const lost = node.spec.dependencies.find((id) => isLost(board.nodes[id]));
  return hasEnded(node) && lost !== undefined
    ? `${node.id} builds on ${lost}, which ${board.nodes[lost]?.status === "failed" ? "failed" : "was cancelled"}. Have that one done first.`
    : undefined;
}

/**
 * The node waits for its next worker, with what the last one left: the folder as it is, and a few words. The previous
 * worker is free, and nodes that were given up because this one had failed wait again, too.
 */
export async function handingOver(
  node: NodeState,
  to: WorkerId,
  by: WorkerId,
  { run, log, pending }: TeamPorts,
): Promise<{ facts: NewFact[] } & Omit<Batch, "facts">> {
  if (!("worker_id" in node)) return { facts: [] };
  const from = node.worker_id;
  const file = conversationFile(node.spec.run_id, from);
  const files = await filesOf(node, log.dir, pending().agent.created.project);
  const stored = from === COORDINATOR ? [] : await log.conversation(file);
  // Its own last words are in its conversation.
  const did = leftBy(node, from === to ? [] : entriesOn(stored, node.id), files);
  const unknown = "Outcome unknown: the work was given to somebody else while this ran.";
  const cutOff = cutOffCalls(node.id, from, stored, unknown);
  const again = givenUpWith(pending().board, run, [node.id]);
  const idle: NewFact[] = isTaken(node) ? [freedFrom(node.id, from, pending().board)] : [];
  const facts: NewFact[] = [
    ...cutOff.facts,
    { type: "node.reopened", data: { node_id: node.id, reserved_for: to, why: "reassigned", from, did, by } },
    ...again.map((id): NewFact => {
      const reserved_for = pending().board.nodes[id]?.reserved_for ?? null;
      return { type: "node.reopened", data: { node_id: id, reserved_for } };
    }),
    ...idle,
  ];
  return cutOff.entries.length > 0 ? { facts, entries: { file, entries: cutOff.entries } } : { facts };
}

const MOST_FILES = 20;
const LONGEST_WORDS = 600;

function leftBy(node: Begun, entries: readonly StoredEntry[], files: readonly string[]): string {
  const last = entries.findLast((entry) => entry.role === "assistant" && textOf(entry).trim() !== "");
  const words = last?.role === "assistant" ? textOf(last).trim() : "";
  const named = files.length > 0 ? `Files: ${files.slice(0, MOST_FILES).join(", ")}.` : "There are no files yet.";
  const failed = node.status === "failed" && "error" in node.outcome ? [`It failed: ${cut(node.outcome.error)}`] : [];
  return [named, ...failed, ...(words ? [`Last words: ${cut(words)}`] : [])].join("\n");
}

async function filesOf(node: Begun, agentDir: string, project: string | null): Promise<string[]> {
  if ("files" in node && node.files.length > 0) return node.files.map(({ path }) => path);
  const options = { agentDir, runId: node.spec.run_id, nodeId: node.id, workerId: HUMAN, project };
  try {
    const { entries } = await workerScope(options).list("scratch", { recursive: true, limit: MOST_FILES });
    return entries.filter(({ kind }) => kind === "file").map(({ path }) => path.replace(/^scratch\//, ""));
  } catch {
    return []; // its folder was never made
  }
}

function cut(text: string): string {
  return text.length > LONGEST_WORDS ? `${text.slice(0, LONGEST_WORDS - 1)}…` : text;
}
