import { dict, inheritsNothing } from "../protocol/dict.ts";
import type { Fact } from "../protocol/index.ts";
import { type AgentState, type AgentStatus, applyToAgent, bornFrom } from "./agent.ts";
import { type Attention, applyToAttention, bornAwake } from "./attention.ts";
import { applyToBackgroundCommands, type BackgroundCommands } from "./background-commands.ts";
import { applyToBoard, emptyBoard } from "./board.ts";
import { applyToInsights, emptyInsights, type Insights } from "./insights.ts";
import { applyToLetters, emptyLetters, type Letters } from "./letters.ts";
import { applyToMeshEnds, type MeshEnds } from "./mesh-ends.ts";
import type { Board } from "./node-state.ts";
import { applyToOutbox, emptyOutbox, type Outbox } from "./outbox.ts";
import { applyToOutside, noneOutside, type Outside } from "./outside.ts";
import { applyToQuestions, emptyQuestions, type Questions } from "./questions.ts";
import { applyToRecentMessages, type RecentMessages } from "./recent-messages.ts";
import { applyToRepository, type RepositoryState } from "./repository.ts";
import { applyToRoster, type Roster } from "./roster.ts";
import { applyToSpending, emptySpending, type Spending } from "./spending.ts";
import { applyToStages, noteLosers, type Stage } from "./stages.ts";
import { applyToTriggers, noTriggers, type Triggers } from "./triggers.ts";
import { applyToTroubles, type Troubles } from "./trouble.ts";

/**
 * Everything that is true of one agent now: a pure fold over its facts, plain JSON, the same on disk, in the server and
 * in the browser. Raise SITUATION_VERSION when the shape or the meaning of a fold changes: old snapshots are then ignored.
 */
export interface Situation {
  seq: number;
  agent: AgentState;
  board: Board;
  stages: Stage[];
  roster: Roster;
  letters: Letters;
  questions: Questions;
  insights: Insights;
  /** What is said to the human and has yet to leave by a channel. */
  outbox: Outbox;
  /** Named as in the snapshots of earlier homes, and for tests of others. */
  thread: RecentMessages;
  spending: Spending;
  attention: Attention;
  triggers: Triggers;
  /** Commands that run beside a worker's turns, if there are any. */
  commands?: BackgroundCommands;
  /** Programs that think for themselves. */
  outside: Outside;
  /** Whose model does not answer. */
  troubles: Troubles;
  /** Of a record of meshes. */
  mesh_ends: MeshEnds;
  /** Of an agent that writes. */
  repository?: RepositoryState;
}

export const SITUATION_VERSION = 37;

/** The first fact of every log is `agent.created`. */
export function begin(first: Fact): Situation {
  if (first.type !== "agent.created") throw new Error(`A log begins with agent.created, not with ${first.type}.`);
  return {
    seq: first.seq,
    agent: bornFrom(first),
    board: emptyBoard(),
    stages: [],
    roster: dict(),
    letters: emptyLetters(),
    questions: emptyQuestions(),
    insights: emptyInsights(),
    outbox: emptyOutbox(),
    thread: [],
    spending: emptySpending(),
    attention: bornAwake(first),
    triggers: noTriggers(),
    outside: noneOutside(),
    troubles: dict(),
    mesh_ends: dict(),
  };
}

/** For a situation that was read from JSON or cloned: inherited names such as `constructor` are not found in it. */
export function withOwnKeys(now: Situation): Situation {
  const { agent, attention, board, insights, letters, outbox, outside, questions, spending, triggers } = now;
  const maps = [
    ...[
      agent.goals,
      attention.unread,
      attention.signs,
      board.nodes,
      insights.open,
      letters.queued,
      letters.lastBetween,
      outbox.open,
    ],
    ...[outside.sessions, outside.permitted, questions.open, questions.answered, now.roster, spending.by_worker],
    ...[
      spending.dearest,
      triggers.open,
      triggers.undone,
      triggers.matches,
      now.troubles,
      now.mesh_ends,
      ...(now.commands ? [now.commands] : []),
      ...(now.repository ? [now.repository.nodes, ...checksOf(now.repository)] : []),
    ],
  ];
  for (const map of maps) inheritsNothing(map);
  return now;
}

function checksOf({ nodes }: RepositoryState) {
  return Object.values(nodes).map(({ checks }) => checks);
}

/**
 * Changes the situation in place, so that its cost does not grow with the log. Applying a fact again changes nothing.
 */
export function apply(now: Situation, fact: Fact): void {
  if (fact.seq <= now.seq) return;
  now.seq = fact.seq;
  applyToAgent(now.agent, fact);
  applyToBoard(now.board, fact);
  applyToStages(now.stages, fact);
  noteLosers(now.stages, now.board, fact);
  applyToRoster(now.roster, fact);
  applyToLetters(now.letters, fact);
  applyToQuestions(now.questions, fact);
  applyToInsights(now.insights, fact);
  applyToOutbox(now.outbox, fact, { run: now.agent.run?.id ?? null, questions: now.questions, letters: now.letters });
  applyToRecentMessages(now.thread, fact);
  applyToSpending(now.spending, fact);
  applyToAttention(now.attention, fact);
  // Who writes to whom is counted again from zero in each cycle.
  if (now.agent.cycle_seq === fact.seq) now.letters.lastBetween = dict();
  applyToTriggers(now.triggers, fact, now.agent.run?.trigger ?? null);
  const commands = applyToBackgroundCommands(now.commands, fact);
  // Nearly always there are none, and even a delete of nothing costs.
  if (commands) now.commands = commands;
  else if (now.commands) delete now.commands;
  applyToOutside(now.outside, fact);
  applyToTroubles(now.troubles, fact);
  applyToMeshEnds(now.mesh_ends, fact);
  const repository = applyToRepository(now.repository, fact);
  if (repository) now.repository = repository;
  if (isAtWork(now.agent.status)) now.agent.status = isAsking(now.questions) ? "waiting_for_human" : "working";
}

/** An agent that has asked its human something continues as far as it can, so it counts as working. */
export function isAtWork(status: AgentStatus | "interrupted"): boolean {
  return status === "working" || status === "waiting_for_human";
}

function isAsking({ open }: Questions): boolean {
  for (const _ in open) return true;
  return false;
}
