import { dict } from "../protocol/dict.ts";
import { COORDINATOR, type Fact, isMadeByTrigger, type WorkerId } from "../protocol/index.ts";

/**
 * What a sleeping agent has not seen yet, and since when nothing has happened. Heartbeats and idle triggers are decided
 * by this, without asking a model.
 *
 * ATTENTION-1. What a trigger causes by itself (its facts, the messages it sends) is neither news nor activity; nor is
 *     housekeeping such as a channel's retry of a message.
 * ATTENTION-2. What happened before the coordinator last went to rest is not news: it was told all of it before its
 *     last turn. So the work that a heartbeat caused does not cause the next one.
 */
export interface Attention {
  /** The newest sign of life. */
  active: Moment;
  /** The newest thing that happened to the work: a node that ended, a suggestion, a person's answer. */
  news: Moment;
  /** The fact at which the coordinator last had nothing more to do. */
  rested_seq: number;
  /** When each of those at work last did something; who waits for a person, for money or for others is not among them. */
  signs: Record<WorkerId, Moment>;
  /** Messages for the coordinator that it was not shown yet. */
  unread: Record<string, Moment>;
}

export interface Moment {
  seq: number;
  ts: number;
}

const NEWS = new Set<string>([
  "node.completed",
  "node.failed",
  "node.cancelled",
  "suggestion.made",
  "human.response",
  "human.nudge",
  "budget.set",
]);

export function bornAwake({ seq, ts }: Moment): Attention {
  return { active: { seq, ts }, news: { seq: 0, ts }, rested_seq: 0, signs: dict(), unread: dict() };
}

export function applyToAttention(attention: Attention, fact: Fact): void {
  const { seq, ts } = fact;
  if (fact.type === "message.received" && fact.data.by === COORDINATOR) delete attention.unread[fact.data.message_id];
  if (fact.type === "message.expired") delete attention.unread[fact.data.message_id];
  if (isOfTriggers(fact) || isHousekeeping(fact)) return;
  attention.active = { seq, ts };
  noteSign(attention, fact);
  if (NEWS.has(fact.type)) attention.news = { seq, ts };
  if (isForCoordinator(fact)) attention.unread[fact.data.message_id] = { seq, ts };
  if (isRest(fact)) attention.rested_seq = seq;
}

function noteSign({ signs }: Attention, { type, data, seq, ts }: Fact): void {
  if (!("worker_id" in data) || data.worker_id === COORDINATOR || typeof data.worker_id !== "string") return;
  if (RESTS.has(type)) delete signs[data.worker_id];
  else if (type === "worker.waiting") {
    if (data.for !== "news") delete signs[data.worker_id];
  } else if (type !== "model.failed" && type !== "model.warned") signs[data.worker_id] = { seq, ts };
}

const RESTS = new Set([
  "worker.spawned",
  "worker.idle",
  "worker.stopped",
  "worker.retired",
  "node.completed",
  "node.failed",
]);

/** The newest fact after `since` that the coordinator was not told. Null: there is no reason to wake it. */
export function unseenNews({ news, rested_seq, unread }: Attention, since: number): Moment | null {
  const mail = Object.values(unread).filter(({ seq }) => seq > since);
  const all = news.seq > Math.max(since, rested_seq) ? [news, ...mail] : mail;
  return all.length === 0 ? null : all.reduce((newest, each) => (each.seq > newest.seq ? each : newest));
}

/** Whether a trigger caused this fact by itself; such a fact must not fire triggers, or they would drive each other. */
export function isOfTriggers(fact: Fact): boolean {
  return fact.type.startsWith("trigger.") || ("message_id" in fact.data && isMadeByTrigger(fact.data.message_id));
}

function isHousekeeping({ type }: Fact): boolean {
  return type === "log.repaired" || type.startsWith("channel.");
}

function isForCoordinator(fact: Fact): fact is Extract<Fact, { type: "message.sent" }> {
  if (fact.type !== "message.sent" || fact.data.from === COORDINATOR) return false;
  const { to, reader = to } = fact.data;
  return reader === COORDINATOR || to === "*";
}

function isRest(fact: Fact): boolean {
  if (fact.type === "run.finished") return true;
  const rests = fact.type === "worker.idle" || fact.type === "worker.waiting" || fact.type === "worker.stopped";
  return rests && fact.data.worker_id === COORDINATOR;
}
