import type { NodeState, Situation, WorkerState } from "../projections/index.ts";
import { COORDINATOR, HUMAN, type NewFact, textOf, type WorkerId } from "../protocol/index.ts";
import { conversationFile } from "../store/paths.ts";
import { workerScope } from "../store/scope.ts";
import { wordsOn } from "../workers/past.ts";
import { givenUpWith } from "./more-money.ts";
import { isTaken } from "./node-run.ts";
import type { TeamPorts } from "./team-ports.ts";

type Begun = Extract<NodeState, { worker_id: WorkerId }>;

/** Why this node cannot go to this worker, or nothing. */
export function problemAssigning(node: NodeState, worker: WorkerState, { board }: Situation): string | undefined {
  if (node.status === "completed") return `${node.id} is completed. Create a new node for what is still to be done.`;
  if (node.status === "publishing") return `${node.id} is being published; wait for its end.`;
  if (isTaken(node) && node.worker_id === worker.id) return `${node.id} is ${worker.spawned.name}'s already.`;
  const lost = node.spec.dependencies.find((id) => board.nodes[id]?.status === "failed");
  return node.status === "failed" && lost !== undefined
    ? `${node.id} builds on ${lost}, which failed. Have that one done first.`
    : undefined;
}

/**
 * The node waits again, for its next worker, with what the last one left: the folder as it is, and a few words. Whoever
 * had it is free, and what was given up because it had failed waits again too.
 */
export async function handingOver(
  node: NodeState,
  to: WorkerId,
  by: WorkerId,
  { run, log, soon }: TeamPorts,
): Promise<NewFact[]> {
  if (!("worker_id" in node)) return [];
  const from = node.worker_id;
  const did = await leftBy(node, log, soon());
  const again = givenUpWith(soon().board, run, [node.id]);
  const idle: NewFact[] = isTaken(node) ? [{ type: "worker.idle", data: { worker_id: from } }] : [];
  return [
    { type: "node.reopened", data: { node_id: node.id, reserved_for: to, why: "reassigned", from, did, by } },
    ...again.map((id): NewFact => {
      const reserved_for = soon().board.nodes[id]?.reserved_for ?? null;
      return { type: "node.reopened", data: { node_id: id, reserved_for } };
    }),
    ...idle,
  ];
}

const MOST_FILES = 20;
const LONGEST_WORDS = 600;

async function leftBy(node: Begun, log: TeamPorts["log"], { agent }: Situation): Promise<string> {
  const { run_id } = node.spec;
  const from = node.worker_id;
  const entries = from === COORDINATOR ? [] : wordsOn(await log.conversation(conversationFile(run_id, from)), node.id);
  const last = entries.findLast((entry) => entry.role === "assistant" && textOf(entry).trim() !== "");
  const words = last?.role === "assistant" ? textOf(last).trim() : "";
  const files = filesOf(node, log.dir, agent.created.project);
  const named = files.length > 0 ? `Files: ${files.slice(0, MOST_FILES).join(", ")}.` : "There are no files yet.";
  const failed = node.status === "failed" && "error" in node.outcome ? [`It failed: ${cut(node.outcome.error)}`] : [];
  return [named, ...failed, ...(words ? [`Last words: ${cut(words)}`] : [])].join("\n");
}

function filesOf(node: Begun, agentDir: string, project: string | null): string[] {
  if ("files" in node && node.files.length > 0) return node.files.map(({ path }) => path);
  const place = { agentDir, runId: node.spec.run_id, nodeId: node.id, workerId: HUMAN, project };
  try {
    const { entries } = workerScope(place).list("scratch", { recursive: true, limit: MOST_FILES });
    return entries.filter(({ kind }) => kind === "file").map(({ path }) => path.replace(/^scratch\//, ""));
  } catch {
    return []; // its folder was never made
  }
}

function cut(text: string): string {
  return text.length > LONGEST_WORDS ? `${text.slice(0, LONGEST_WORDS - 1)}…` : text;
}
