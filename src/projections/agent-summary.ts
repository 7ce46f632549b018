import { type AgentId, COORDINATOR, HUMAN, type RunId, type WorkerId } from "../protocol/index.ts";
import { type AgentStatus, needsDecision, shownGoalOf } from "./agent.ts";
import { isAsleep } from "./asleep.ts";
import type { Roster } from "./roster.ts";
import type { Situation } from "./situation.ts";
import { currentStage } from "./stages.ts";
import { type Trouble, troublesOf } from "./trouble.ts";

/** An agent in a few fields: what a list of agents shows, and what is kept in memory of an idle agent. */
export interface AgentSummaryData {
  /** The fact it was made at. */
  seq: number;
  id: AgentId;
  name: string;
  /** Of the run that is under way or was the last. */
  goal: string;
  mode: "finite" | "infinite";
  status: AgentStatus;
  /** It counts as working, and only the clock or a message makes it go on. */
  asleep: boolean;
  /** Out of sight until it is restored. */
  archived: boolean;
  model: string;
  worker_model: string;
  created_ts: number;
  updated_ts: number;
  run_id: RunId | null;
  current_stage: string | null;
  nodes: { total: number; completed: number; failed: number };
  /** Those who have not retired. */
  worker_count: number;
  /**
   * The workers, at most a hundred, to find them by: those who are gone come last. The name is that of earlier homes.
   */
  people: { id: WorkerId; name: string; identity: string }[];
  open_questions: number;
  /** It failed, or waits for the human's approval. */
  needs_decision: boolean;
  /** Messages to the human that they have not seen. */
  unread: number;
  /** A worker's model does not answer: which worker's, and how many there are. */
  trouble: (Trouble & { worker_name: string; workers: number }) | null;
  cost_usd: number;
  unpriced_calls: number;
  budget_usd: number | null;
  summary: string | null;
  error: string | null;
  /** Something is to happen by itself: a trigger is open or undone, or something waits to leave by a channel. */
  keeps_time: boolean;
  /** The project whose meshes it is the record of, if it is one. */
  meshes_of: string | null;
  /** Its log has not been folded yet: counts, money and what waits may be out of date (`preliminarySummary`). */
  loading?: true;
}

/** Raise it when the shape or the meaning changes: summaries that were kept before are then rebuilt. */
export const AGENT_SUMMARY_VERSION = 7;

export function summarise(now: Situation): AgentSummaryData {
  const { agent, board, roster, questions, letters, spending, triggers, outbox, stages } = now;
  const { name, mode, model, worker_model, budget_usd, meshes, project } = agent.created;
  const run_id = agent.run?.id ?? null;
  return {
    seq: now.seq,
    id: agent.id,
    name,
    goal: shownGoalOf(agent),
    mode,
    status: agent.status,
    asleep: agent.status === "working" && isAsleep(now),
    archived: agent.archived_ts !== null,
    model,
    worker_model,
    created_ts: agent.created_ts,
    updated_ts: agent.updated_ts,
    run_id,
    current_stage: run_id === null ? null : (currentStage(stages, run_id)?.name ?? null),
    nodes: countNodes(board),
    worker_count: Object.values(roster).filter(({ status }) => status !== "retired").length,
    people: workersIn(roster),
    open_questions: Object.keys(questions.open).length,
    needs_decision: needsDecision(agent),
    unread: Object.values(letters.queued).filter(({ reader }) => reader === HUMAN).length,
    trouble: firstTrouble(now),
    cost_usd: spending.total.cost_usd,
    unpriced_calls: spending.total.unpriced_calls,
    budget_usd,
    summary: agent.summary,
    error: agent.error,
    keeps_time: isNotEmpty(triggers.open) || isNotEmpty(triggers.undone) || outbox.waiting.length > 0,
    meshes_of: meshes ? project : null,
  };
}

function workersIn(roster: Roster): AgentSummaryData["people"] {
  const workers = Object.values(roster).filter(({ id }) => id !== COORDINATOR);
  return workers
    .sort((a, b) => Number(a.status === "retired") - Number(b.status === "retired"))
    .slice(0, MOST_PEOPLE)
    .map(({ id, spawned: { name, identity = "" } }) => {
      return { id, name, identity: identity.trim().split("\n", 1)[0]?.slice(0, 80) ?? "" };
    });
}

const MOST_PEOPLE = 100;

function firstTrouble({ troubles, roster }: Situation): AgentSummaryData["trouble"] {
  const all = troublesOf(troubles);
  const [first] = all;
  if (!first) return null;
  return { ...first, worker_name: roster[first.worker_id]?.spawned.name ?? first.worker_id, workers: all.length };
}

function countNodes({ nodes }: Situation["board"]): AgentSummaryData["nodes"] {
  const counts = { total: 0, completed: 0, failed: 0 };
  for (const { status } of Object.values(nodes)) {
    counts.total += 1;
    if (status === "completed") counts.completed += 1;
    if (status === "failed") counts.failed += 1;
  }
  return counts;
}

function isNotEmpty(record: object): boolean {
  for (const _ in record) return true;
  return false;
}
