import {
  currentStage,
  describeBoard,
  isStageDone,
  type Letter,
  type NodeState,
  type Situation,
} from "../projections/index.ts";
import { COORDINATOR, type Fact, type NodeId } from "../protocol/index.ts";

export interface News {
  text: string;
  /** Present when it is a message, which is received by being told. */
  message_id?: string;
}

/** What this fact has to tell this reader, in words, or nothing. Pure: mail is a reading of the log. */
export function newsFor(reader: string, fact: Fact, now: Situation): News | undefined {
  if (fact.type === "message.sent") {
    const { from, to, message_id, text } = fact.data;
    const isFor = (fact.data.reader ?? to) === reader || (to === "*" && from !== reader);
    if (!isFor) return undefined;
    const forWhom = to !== reader && to !== "*" ? ` for ${nameOf(to, now)}, who has no work now` : "";
    return { text: `[Message from ${nameOf(from, now)}${forWhom}]: ${text}`, message_id };
  }
  if (fact.type === "message.forwarded" && fact.data.to === reader) {
    const letter = now.letters.queued[fact.data.message_id];
    if (!letter) return undefined;
    const whom = `${nameOf(letter.to, now)}, who has finished`;
    return { text: `[Message from ${nameOf(letter.from, now)} for ${whom}]: ${letter.text}`, message_id: letter.id };
  }
  const text = reader === COORDINATOR ? newsOfTheTeam(fact, now) : newsOfChildren(reader, fact, now);
  return text === undefined ? undefined : { text };
}

/** A message to this reader itself. */
export function newsOfLetter({ id, from, text }: Letter, now: Situation): News {
  return { text: `[Message from ${nameOf(from, now)}]: ${text}`, message_id: id };
}

function newsOfTheTeam(fact: Fact, now: Situation): string | undefined {
  switch (fact.type) {
    case "node.completed":
    case "node.failed": {
      // A worker hears of the nodes below its own, and answers for them while it is at work.
      if (openParentOf(fact.data.node_id, now)) return undefined;
      return `${endOf(fact.data.node_id, now)}${stageNews(now)}`;
    }
    case "node.retried":
      return undefined;
    case "suggestion.made":
      return `${nameOf(fact.data.worker_id, now)} suggests: ${fact.data.suggestion}`;
    case "insight.offered": {
      const insight = Object.values(now.insights.open).find(({ seq }) => seq === fact.seq);
      if (!insight) return undefined;
      const { id, worker_id, title, content } = insight;
      return `${nameOf(worker_id, now)} offers ${id} for your memory: ${title}\n${content}\nDecide with accept_insight or decline_insight.`;
    }
    case "worker.checkpointed":
      return fact.data.worker_id === COORDINATOR
        ? undefined
        : `${nameOf(fact.data.worker_id, now)} reports: ${fact.data.summary}`;
    // Told the state of the board, so that it does not go by what it remembers of it.
    case "agent.resumed":
      return `The work was interrupted and your human has now resumed it. The board as it is:\n${describeBoard(now.board)}\nGo on.`;
    default:
      return undefined;
  }
}

function newsOfChildren(reader: string, fact: Fact, now: Situation): string | undefined {
  if (fact.type !== "node.completed" && fact.type !== "node.failed") return undefined;
  const parent = openParentOf(fact.data.node_id, now);
  const mine = parent && "worker_id" in parent && parent.worker_id === reader;
  return mine ? endOf(fact.data.node_id, now) : undefined;
}

function openParentOf(id: NodeId, { board }: Situation): NodeState | undefined {
  const above = board.nodes[id]?.spec.parent_node_id;
  const parent = above ? board.nodes[above] : undefined;
  return parent?.status === "completed" || parent?.status === "failed" ? undefined : parent;
}

function endOf(id: NodeId, now: Situation): string {
  const node = now.board.nodes[id];
  if (node?.status !== "completed" && node?.status !== "failed") return `${id} has ended.`;
  const list = node.files.map((file) => `nodes/${id}/published/${file.path}`).join(", ");
  if (node.status === "completed") {
    return `${id} completed by ${nameOf(node.worker_id, now)}: ${node.summary}${list ? `\nPublished: ${list}` : ""}`;
  }
  const { outcome } = node;
  const why = "error" in outcome ? outcome.error : outcome.kind.replace("_", " ");
  const left = list ? `What was done is in ${list}.` : `Its unfinished files are in nodes/${id}/scratch/.`;
  return `${id} failed: ${why.replace(/\.$/, "")}. ${left}`;
}

function stageNews(now: Situation): string {
  const run = now.agent.run?.id;
  const stage = run ? currentStage(now.stages, run) : undefined;
  if (!stage || !isStageDone(stage, now.board)) return "";
  return `\nStage ${stage.number} (${stage.name}) is done. Reconvene, create more work, or finish.`;
}

function nameOf(id: string, now: Situation): string {
  return now.roster[id]?.spawned.name ?? id;
}
