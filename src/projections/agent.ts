import { dict } from "../protocol/dict.ts";
import {
  type AgentId,
  COORDINATOR,
  type Fact,
  type FactOf,
  HUMAN,
  type Outcome,
  type RunId,
} from "../protocol/index.ts";

export type AgentStatus = "idle" | "working" | "waiting_for_human" | "paused" | "stopped" | "completed" | "failed";

/** Who the agent is and how it is doing. */
export interface AgentState {
  id: AgentId;
  created: FactOf<"agent.created">["data"];
  created_ts: number;
  updated_ts: number;
  status: AgentStatus;
  /** What its human wants of it, as `GOAL.md` says: the last goal that was not the task of a trigger. */
  goal: string;
  /** The run that is under way or was the last. */
  run: {
    id: RunId;
    goal: string;
    started_ts: number;
    started_seq: number;
    finished: FactOf<"run.finished">["data"]["outcome"] | null;
    /** The occurrence of a trigger that began it. */
    trigger: string | null;
  } | null;
  /** The call of the coordinator's last checkpoint, until it has its result. */
  checkpoint: string | null;
  /** What it said with its last checkpoint, or the beginning of it. */
  last_checkpoint: { summary: string; is_cut?: true; ts: number } | null;
  /** Of an infinite agent: what is limited counts from this fact on, its last checkpoint or waking. */
  cycle_seq: number;
  runs: number;
  /** What each run was to reach, in its first words. */
  goals: Partial<Record<RunId, string>>;
  summary: string | null;
  error: string | null;
  /** How it ended last, if it has. */
  outcome: Outcome | null;
  /** Paused or failed: why, in words, and since when. Of a person who paused it, why is `human`. */
  halted: { why: string; ts: number } | null;
  /** Stopped although nobody had asked for it (its terminal was closed, say): why, in words. */
  stopped_because?: string;
  /** A person spoke after a stop: no node goes on before the coordinator, having read it, waits for news. */
  coordinator_decides: boolean;
  /** Since when it is out of sight. */
  archived_ts: number | null;
}

export function bornFrom(fact: FactOf<"agent.created">): AgentState {
  return {
    id: fact.agent_id,
    created: fact.data,
    created_ts: fact.ts,
    updated_ts: fact.ts,
    status: "idle",
    goal: fact.data.goal,
    run: null,
    runs: 0,
    goals: dict(),
    summary: null,
    error: null,
    outcome: null,
    checkpoint: null,
    last_checkpoint: null,
    cycle_seq: 0,
    halted: null,
    coordinator_decides: false,
    archived_ts: null,
  };
}

export function applyToAgent(agent: AgentState, fact: Fact): void {
  agent.updated_ts = fact.ts;
  switch (fact.type) {
    case "agent.started":
      begin(agent);
      return;
    case "agent.resumed":
      agent.coordinator_decides = fact.data.coordinator_decides ?? false;
      begin(agent);
      return;
    case "agent.paused":
      agent.status = "paused";
      agent.halted = { why: fact.data.why ?? HUMAN, ts: fact.ts };
      return;
    case "agent.stopped":
      agent.status = "stopped";
      if (fact.data.why !== undefined) agent.stopped_because = fact.data.why;
      return;
    case "agent.completed":
      complete(agent, fact);
      return;
    case "agent.failed":
      fail(agent, fact);
      return;
    case "agent.archived":
      agent.archived_ts = fact.ts;
      return;
    case "agent.restored":
      agent.archived_ts = null;
      return;
    case "model.set":
      agent.created = { ...agent.created, model: fact.data.model, worker_model: fact.data.worker_model };
      return;
    case "budget.set":
      setBudget(agent, fact);
      return;
    case "run.started":
      beginRun(agent, fact);
      return;
    case "goal.set":
      setGoal(agent, fact);
      return;
    case "worker.waiting":
      if (fact.data.worker_id === COORDINATOR && fact.data.for === "news") agent.coordinator_decides = false;
      return;
    case "worker.checkpointed":
      if (fact.data.worker_id === COORDINATOR) keepCheckpoint(agent, fact);
      return;
    case "trigger.fired":
      if (fact.data.action === "wake_agent") beginCycle(agent, fact);
      return;
    case "tool.result":
      if (fact.data.worker_id === COORDINATOR && fact.data.call_id === agent.checkpoint) agent.checkpoint = null;
      return;
    case "run.finished":
      agent.coordinator_decides = false;
      if (agent.run?.id === fact.data.run_id) agent.run.finished = fact.data.outcome;
      return;
  }
}

function begin(agent: AgentState): void {
  agent.status = "working";
  agent.error = null;
  agent.outcome = null;
  agent.halted = null;
  delete agent.stopped_because;
}

function complete(agent: AgentState, { data: { summary } }: FactOf<"agent.completed">): void {
  agent.status = "completed";
  agent.summary = summary;
  agent.outcome = { kind: "finished", summary };
}

function fail(agent: AgentState, { data: { error, outcome }, ts }: FactOf<"agent.failed">): void {
  agent.status = "failed";
  agent.error = error;
  agent.outcome = outcome ?? { kind: "failed", error };
  agent.halted = { why: error, ts };
}

function setBudget(agent: AgentState, { data: { budget_usd, budget_tokens } }: FactOf<"budget.set">): void {
  if (budget_usd !== undefined) agent.created = { ...agent.created, budget_usd };
  if (budget_tokens) agent.created = { ...agent.created, budget_tokens };
}

/** Not for a goal but for a node: one that answers comments on earlier work, or that a person does after all. */
export function isOpenedForNode({ trigger }: { trigger: string | null }): boolean {
  return /^(?:comment|assign)@/.test(trigger ?? "");
}

function beginRun(agent: AgentState, { data, seq, ts }: FactOf<"run.started">): void {
  const { run_id, goal, trigger } = data;
  agent.runs += 1;
  if (!trigger) agent.goal = goal;
  agent.goals[run_id] = goal.slice(0, FIRST_WORDS);
  // Nobody has begun with it yet: it was opened by a person who does a part of it.
  if (agent.status === "completed") Object.assign(agent, { status: "idle", outcome: null });
  agent.run = { id: run_id, goal, started_ts: ts, started_seq: seq, finished: null, trigger: trigger ?? null };
}

function setGoal(agent: AgentState, { data: { run_id, goal } }: FactOf<"goal.set">): void {
  agent.goal = goal;
  if (agent.run && agent.run.id === run_id) {
    agent.run.goal = goal;
    agent.goals[agent.run.id] = goal.slice(0, FIRST_WORDS);
  }
}

function keepCheckpoint(agent: AgentState, fact: FactOf<"worker.checkpointed">): void {
  agent.checkpoint = fact.data.call_id ?? null;
  const { summary } = fact.data;
  const cut = summary.length > LONGEST_CHECKPOINT ? { is_cut: true as const } : {};
  agent.last_checkpoint = { summary: summary.slice(0, LONGEST_CHECKPOINT).toWellFormed(), ...cut, ts: fact.ts };
  beginCycle(agent, fact);
}

/** A cycle has no fact of its own: it ends with a checkpoint or with replies without a call, and begins with a waking. */
function beginCycle(agent: AgentState, { seq }: Fact): void {
  if (agent.created.mode === "infinite") agent.cycle_seq = seq;
}

/** A person paused, stopped or archived it: nothing wakes it. */
export function isAtRest({ status, archived_ts }: AgentState): boolean {
  return status === "paused" || status === "stopped" || archived_ts !== null;
}

const FIRST_WORDS = 200;
/** Each waking tells it; longer ones are read in the record. */
const LONGEST_CHECKPOINT = 600;

/** The current goal, or the last one: later runs may have other goals than the first. */
export function goalOf({ run, goal }: AgentState): string {
  return run?.goal ?? goal;
}

/** As people are shown it: a run that was opened for one node has a goal of our words, not of theirs. */
export function shownGoalOf(agent: AgentState): string {
  return agent.run && isOpenedForNode(agent.run) ? agent.goal : goalOf(agent);
}

/** Nothing continues before a person decides: it failed, or a stage needs their approval. */
export function needsDecision({ status, halted }: AgentState): boolean {
  return status === "failed" || (status === "paused" && halted !== null && halted.why !== HUMAN);
}
