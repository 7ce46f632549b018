import { shellWord } from "../../boundary/shell-word.ts";
import { type AgentStatus, isAtWork, type NodeState, type Situation } from "../../projections/index.ts";
import { HUMAN, type NodeId, type WorkerId } from "../../protocol/index.ts";
import { nodeDir } from "../../store/paths.ts";

/** What is said to people, and for them, about work that is theirs or not yet, with what to do. */

/** What a person can do instead, where a node cannot change hands any more or not yet. */
export function whyNotGiven({ id, status }: NodeState, agent: string, isUnderWay: boolean): string | undefined {
  if (status === "completed") return `${id} is completed, and its files are published. ${moreFrom(agent)}`;
  if (status !== "publishing" || isUnderWay) return undefined;
  return `The publish of ${id} was interrupted. It is finished when ${agent} is resumed: agiraph resume ${shellWord(agent)}`;
}

export function nowAnother(id: NodeId, now: NodeId): string {
  return `${id} belongs to a run that is over; its work is now ${now}.`;
}

/** What is asked for, and what there is of it. Said of a node it is always the same: by this it is known again. */
export function taskAfterAll(node: NodeState, agentDir: string): string {
  const why = node.status === "failed" ? "failed" : "was cancelled";
  const folder = nodeDir(agentDir, node.spec.run_id, node.id);
  return `${node.spec.task}\n\n(This was ${node.id}, which ${why}. What there is of it: ${folder})`;
}

export function goalAfterAll({ id, spec }: NodeState, now: NodeId): string {
  return `Your human does ${id} of ${spec.run_id} themselves after all: it is ${now} now, and theirs.\n\n${spec.task}\n\nWait until ${now} is completed, bring your results up to date with it, and finish.`;
}

export function whenResumed(id: NodeId, { agent: { status, created } }: Situation): string {
  return `${id} is published when ${created.name} is resumed; it ${restsSince(status)}: agiraph resume ${shellWord(created.name)}`;
}

/** Where nobody works on it. */
function restsSince(status: AgentStatus): string {
  if (isAtWork(status)) return "was interrupted";
  return status === "failed" ? "has failed" : `is ${status}`;
}

export function restingAgent(agent: string, status: AgentStatus): string {
  return `${agent} ${restsSince(status)}: nothing begins until you resume it: agiraph resume ${shellWord(agent)}`;
}

export function moreFrom(agent: string): string {
  return `To have more done: agiraph send ${shellWord(agent)} "what to do next"`;
}

export function notYours(node: NodeState, now: Situation): string {
  const agent = now.agent.created.name;
  if (node.status === "completed") return `${node.id} is completed, and its files are published. ${moreFrom(agent)}`;
  const { id, name } = ownerOf(node, now);
  if (id === HUMAN) return `${node.id} is yours, but cannot be done yet: ${whyNotYet(node, now)}.`;
  return `${node.id} is not yours: ${name} has it (${node.status}). Take it first: agiraph assign ${shellWord(agent)} ${node.id} human`;
}

/** Who works on it, or is to. */
export function ownerOf(node: NodeState, { roster }: Situation): { id: WorkerId | null; name: string } {
  const id = "worker_id" in node ? node.worker_id : node.reserved_for;
  return { id, name: id === null ? "nobody" : (roster[id]?.spawned.name ?? id) };
}

export function whyNotYet(node: NodeState, { board }: Situation): string {
  if (node.status !== "pending") return `it is ${node.status}`;
  const waitsFor = node.spec.dependencies.filter((id) => board.nodes[id]?.status !== "completed");
  if (waitsFor.length > 0) return `it needs ${waitsFor.join(", ")} first`;
  return node.held ? "it is held until its trigger fires" : "it is about to begin; try again";
}
