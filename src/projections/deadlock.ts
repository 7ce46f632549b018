import { AGIRAPH, COORDINATOR, type FactOf, HUMAN, type NodeId, type WorkerId } from "../protocol/index.ts";
import { lostBackgroundCommands } from "./background-commands.ts";
import { openNodes } from "./board.ts";
import { mayNeverBegin } from "./lineage.ts";
import { hasEnded } from "./node-state.ts";
import type { WorkerState } from "./roster.ts";
import { isUnderWay } from "./shown-status.ts";
import type { Situation } from "./situation.ts";
import type { OpenTrigger } from "./triggers.ts";
import { numberOf } from "./waiting-work.ts";

/** Somebody who waits on a node, for what, and since when, if that is known. */
export interface Waiter {
  worker_id: WorkerId;
  node_id: NodeId;
  for: FactOf<"worker.waiting">["data"]["for"];
  since_ts: number | null;
}

/**
 * Those at work on the run if all of them wait for each other, and the coordinator for them, so that nothing happens by
 * itself; nobody otherwise.
 *
 * DEADLOCK-1. It is none while anything may still come: from the person (a question, a node of theirs, an approval), from
 *     a trigger of the team, from a command in the background, from mail that is not read, from work that is about to
 *     begin.
 */
export function deadlockOf(now: Situation): Waiter[] {
  const { agent, roster, board, attention } = now;
  const { run, status } = agent;
  const lead = roster[COORDINATOR];
  if (status !== "working" || !run || run.finished || agent.coordinator_decides) return [];
  if (lead?.status !== "waiting" || lead.for !== "news") return [];
  const waiters: Waiter[] = [];
  for (const worker of Object.values(roster)) {
    const work = workOf(worker);
    const node = work?.node_id ? board.nodes[work.node_id] : undefined;
    // A kill may leave somebody at work on what has ended.
    if (!work || !node || node.spec.run_id !== run.id || hasEnded(node)) continue;
    if (work.status === "busy" || !FOR_OTHERS.has(work.for)) return [];
    const since_ts = attention.signs[worker.id]?.ts ?? null;
    waiters.push({ worker_id: worker.id, node_id: node.id, for: work.for, since_ts });
  }
  if (!waiters.some((each) => each.for === "news")) return [];
  return isSomethingToCome(waiters, now) ? [] : waiters.sort((a, b) => numberOf(a.node_id) - numberOf(b.node_id));
}

/** What only the others bring about. */
const FOR_OTHERS = new Set<Waiter["for"]>(["news", "children", "budget"]);

/** A worker that was let go finishes its work first. */
function workOf(worker: WorkerState) {
  if (worker.id === COORDINATOR) return null;
  if (worker.status === "retired") return worker.still;
  return worker.status === "busy" || worker.status === "waiting" ? worker : null;
}

function isSomethingToCome(waiters: readonly Waiter[], now: Situation): boolean {
  const { agent, board, commands, letters, triggers } = now;
  const readers = new Set<string>([COORDINATOR, "*", ...waiters.map(({ worker_id }) => worker_id)]);
  const worked = new Set<NodeId>(waiters.map(({ node_id }) => node_id));
  return (
    lostBackgroundCommands(commands).length > 0 ||
    Object.keys(triggers.undone).length > 0 ||
    Object.values(triggers.open).some(isOfTeam) ||
    Object.values(letters.queued).some(({ reader }) => readers.has(reader)) ||
    openNodes(board, agent.run?.id ?? "run-0").some((node) => {
      if (isUnderWay(node)) return !worked.has(node.id);
      if (mayNeverBegin(node, board)) return false;
      const isReady = node.spec.dependencies.every((id) => board.nodes[id]?.status === "completed");
      return isReady && (node.reserved_for === null || !readers.has(node.reserved_for));
    })
  );
}

/** The team has set it, or it speaks to the team. What wakes the coordinator for another reason does not help. */
function isOfTeam({ status, created_by, action }: OpenTrigger): boolean {
  if (status !== "active" || created_by === AGIRAPH) return false;
  return created_by !== HUMAN || action.type === "send_message" || action.type === "run_node";
}
