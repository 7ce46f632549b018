import {
  currentStage,
  describeBoard,
  isStageDone,
  type Letter,
  type NodeState,
  type Situation,
} from "../projections/index.ts";
import { COORDINATOR, type Fact, type FactOf, type NodeId } from "../protocol/index.ts";

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
      // It has been reopened since.
      if (!stands(fact, now)) return undefined;
      // A worker hears of the nodes below its own, and answers for them while it is at work.
      if (openParentOf(fact.data.node_id, now)) return undefined;
      return `${endOf(fact.data.node_id, now)}${stageNews(now)}`;
    }
    case "node.retried":
      return undefined;
    case "suggestion.made":
      return `${nameOf(fact.data.worker_id, now)} suggests: ${fact.data.suggestion}`;
    case "worker.checkpointed":
      return fact.data.worker_id === COORDINATOR
        ? undefined
        : `${nameOf(fact.data.worker_id, now)} reports: ${fact.data.summary}`;
    case "node.reopened":
      return openParentOf(fact.data.node_id, now) ? undefined : reopeningOf(fact.data.node_id);
    case "budget.set":
      return budgetNews(fact, now);
    // Told the state of the board, so that it does not go by what it remembers of it.
    case "agent.resumed":
      return `The work was interrupted and your human has now resumed it. The board as it is:\n${describeBoard(now.board)}\nGo on.`;
    default:
      return undefined;
  }
}

function newsOfChildren(reader: string, fact: Fact, now: Situation): string | undefined {
  if (fact.type !== "node.completed" && fact.type !== "node.failed" && fact.type !== "node.reopened") return undefined;
  if (fact.type !== "node.reopened" && !stands(fact, now)) return undefined;
  const parent = openParentOf(fact.data.node_id, now);
  const mine = parent && "worker_id" in parent && parent.worker_id === reader;
  if (!mine) return undefined;
  return fact.type === "node.reopened" ? reopeningOf(fact.data.node_id) : endOf(fact.data.node_id, now);
}

/** Whoever answers for it now: the nearest node above it that has not ended itself. */
function openParentOf(id: NodeId, { board }: Situation): NodeState | undefined {
  for (let above = board.nodes[id]?.spec.parent_node_id; above; above = board.nodes[above]?.spec.parent_node_id) {
    const parent = board.nodes[above];
    if (parent?.status !== "completed" && parent?.status !== "failed") return parent;
  }
  return undefined;
}

function reopeningOf(id: NodeId): string {
  return `${id} had run out of money and goes on where it was.`;
}

/** An end that was taken back is no news; there will be another. */
function stands(fact: FactOf<"node.completed" | "node.failed">, { board }: Situation): boolean {
  const node = board.nodes[fact.data.node_id];
  return node?.status === fact.type.slice("node.".length) && "ended_ts" in node && node.ended_ts === fact.ts;
}

function budgetNews({ data: { budget_usd } }: FactOf<"budget.set">, { board, agent, spending }: Situation): string {
  const limit = budget_usd === null ? "There is no limit to the budget any more" : `The budget is now $${budget_usd}`;
  const out = Object.values(board.nodes).filter(
    ({ spec, ...node }) =>
      spec.run_id === agent.run?.id && node.status === "failed" && node.outcome.kind === "budget_exhausted",
  );
  const shares = out.map(({ id }) => id).join(", ");
  const rest = shares
    ? ` What ran out of its own share stays as it is (${shares}): hand out the rest as new work.`
    : "";
  return `${limit}; $${spending.total.cost_usd.toFixed(4)} is spent.${rest}`;
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
