/** What is said of a node whose state has changed: its end, with what ended below it; its reopening; its new task. */

import { hasEnded, type NodeState, type Situation, waitingFor } from "../projections/index.ts";
import { type Fact, type FactOf, HUMAN, type NodeId } from "../protocol/index.ts";
import { answeredComments, mergedText } from "./branch-news.ts";

export type NodeEnding = "node.completed" | "node.failed" | "node.cancelled";

export function isEndOrReopening(fact: Fact): fact is FactOf<NodeEnding | "node.reopened"> {
  return (
    fact.type === "node.completed" ||
    fact.type === "node.failed" ||
    fact.type === "node.cancelled" ||
    fact.type === "node.reopened"
  );
}

/** An end that was taken back is not news; there will be another. */
export function stands(fact: FactOf<NodeEnding>, { board }: Situation): boolean {
  const node = board.nodes[fact.data.node_id];
  return hasEnded(node) && node.ended_seq === fact.seq;
}

/** Who answers for it: the nearest node above that was still open when it happened, however late it is read. */
export function parentWhen(
  { seq, data }: FactOf<NodeEnding | "node.reopened">,
  { board }: Situation,
): NodeState | undefined {
  for (let above = board.nodes[data.node_id]?.spec.parent_node_id; above; ) {
    const parent = board.nodes[above];
    if (parent && !(hasEnded(parent) && parent.ended_seq < seq)) return parent;
    above = parent?.spec.parent_node_id ?? null;
  }
  return undefined;
}

/** What is not published only the coordinator can read. */
type Reader = "lead" | "worker";

const MOST_BELOW = 20;
const MOST_FILES = 50;
const LONGEST_BELOW = 600;

/** With what had ended below it unheard, all the way down: otherwise nobody would ever be told of it. */
export function nodeEndText(id: NodeId, now: Situation, reader: Reader = "lead"): string {
  const below = unheardBelow(id, now);
  if (below.length === 0) return endTextOf(id, now, reader);
  const more = below.length > MOST_BELOW ? [`… ${below.length - MOST_BELOW} more, see check_board.`] : [];
  const lines = below
    .slice(0, MOST_BELOW)
    .map((each) => `- ${cut(endTextOf(each, now, reader)).replaceAll("\n", "\n  ")}`);
  return [endTextOf(id, now, reader), "Ended below it, unheard:", ...lines, ...more].join("\n");
}

function unheardBelow(id: NodeId, { board }: Pick<Situation, "board">): NodeId[] {
  const node = board.nodes[id];
  const unheard = hasEnded(node) ? node.unheard : [];
  return unheard.flatMap((each) => [each, ...unheardBelow(each, { board })]);
}

/** The coordinator sees to it that comments are answered. */
function endTextOf(id: NodeId, now: Situation, reader: Reader): string {
  return `${outcomeText(id, now, reader)}${reader === "lead" ? answeredComments(id, now) : ""}`;
}

function outcomeText(id: NodeId, now: Situation, reader: Reader): string {
  const node = now.board.nodes[id];
  if (!hasEnded(node)) return `${id} has ended.`;
  if (node.status === "cancelled") return `${id} was cancelled by ${workerName(node.by, now)}: ${node.reason}`;
  const named = node.files.slice(0, MOST_FILES).map((file) => `nodes/${id}/published/${file.path}`);
  const list = `${named.join(", ")}${node.files.length > MOST_FILES ? ` and ${node.files.length - MOST_FILES} more` : ""}`;
  if (node.status === "completed") {
    return `${id} completed by ${workerName(node.worker_id, now)}: ${node.summary}${list ? `\nPublished: ${list}` : ""}${mergedText(id, now)}`;
  }
  const { outcome } = node;
  const why = "error" in outcome ? outcome.error : outcome.kind.replace("_", " ");
  const unfinished = reader === "lead" ? ` Its unfinished files are in nodes/${id}/scratch/.` : "";
  return `${id} failed: ${why.replace(/\.$/, "")}.${list ? ` What was done is in ${list}.` : unfinished}`;
}

function cut(text: string): string {
  return text.length > LONGEST_BELOW ? `${text.slice(0, LONGEST_BELOW - 1)}…` : text;
}

export function dependantsOf(id: NodeId, { board }: Situation): string {
  const waiting = waitingFor([id], board).join(", ");
  return waiting ? `\nNot begun, since it depends on ${id}: ${waiting}.` : "";
}

/** Whole: its worker follows this from now on. */
export function changesOf({ data: { node_id, task, deliverables, checks } }: FactOf<"node.updated">): string {
  const list = (name: string, items: readonly string[] | undefined) =>
    items === undefined ? [] : [`${name}: ${items.join(", ") || "none"}.`];
  const changes = [
    ...(task === undefined ? [] : [`Its task now: ${task}`]),
    ...list("Its deliverables now", deliverables),
    ...list("Its checks now", checks),
  ];
  return `${node_id}. ${changes.join("\n")}`;
}

/** A model that had it itself is told in its conversation, which goes on (`resumeWork`). */
export function isTakenBack({ data: { from, reserved_for } }: FactOf<"node.reopened">, { roster }: Situation): boolean {
  return from !== undefined && from === reserved_for && roster[from]?.spawned.kind === "harnessed";
}

/** To its new worker. */
export function takingOver({ data }: FactOf<"node.reopened">, now: Situation): string | undefined {
  const { node_id, why, from, did } = data;
  if (why !== "reassigned" || from === undefined) return undefined;
  return `You take over ${node_id}, which ${workerName(from, now)} had. What was done is in your folder: look at it and go on from there, do not begin again.${did ? `\n${did}` : ""}`;
}

export function reopeningOf({ data }: FactOf<"node.reopened">, now: Situation): string | undefined {
  const { node_id, why, reserved_for, by } = data;
  if (why === "reassigned")
    return by === HUMAN && reserved_for !== null
      ? `Your human has ${reserved_for === HUMAN ? `taken over ${node_id}` : `given ${node_id} to ${workerName(reserved_for, now)}`}.`
      : undefined;
  return why === "trigger"
    ? `${node_id} had failed and is tried again, as a trigger asks.`
    : `${node_id} had run out of money and goes on where it was.`;
}

export function workerName(id: string, now: Situation): string {
  return id === HUMAN ? "your human" : (now.roster[id]?.spawned.name ?? id);
}
