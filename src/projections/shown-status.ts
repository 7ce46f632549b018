import type { AgentStatus } from "./agent.ts";
import type { NodeState } from "./node-state.ts";
import type { Situation } from "./situation.ts";

/**
 * The state of an agent seen from outside: one whose status is working while no process works on it was interrupted.
 */
export type Standing = AgentStatus | "interrupted";

type UnderWay = Extract<NodeState, { status: "assigned" | "running" | "publishing" }>;

export function isUnderWay(node: NodeState): node is UnderWay {
  return node.status === "assigned" || node.status === "running" || node.status === "publishing";
}

/** The state of a busy worker seen from outside: while the agent rests, so does the worker. */
export function shownWorkerStatus(status: string, standing: Standing): string {
  // Whatever ended the agent ended their work with it, and they go on when it does.
  if (standing === "working" || standing === "waiting_for_human") return status;
  return standing === "failed" || standing === "idle" ? "stopped" : standing;
}

/** The state of a node, in the words that every board shows. */
export function shownNodeStatus(
  node: NodeState,
  { questions, agent }: Pick<Situation, "questions"> & { agent: Pick<Situation["agent"], "coordinator_decides"> },
  standing: Standing,
): string {
  if (Object.values(questions.open).some(({ node_id }) => node_id === node.id)) return "needs you";
  if (agent.coordinator_decides && isUnderWay(node)) return "stopped";
  return isUnderWay(node) ? shownWorkerStatus(node.status, standing) : node.status;
}
