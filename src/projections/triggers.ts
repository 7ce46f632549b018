import { dict } from "../protocol/dict.ts";
import {
  COORDINATOR,
  type Condition,
  type Fact,
  type FactOf,
  type MissedPolicy,
  type Occurrence,
  occurrenceKey,
  type TriggerAction,
  type TriggerId,
  triggerIn,
} from "../protocol/index.ts";
import { isAwaited } from "./event-match.ts";

interface TriggerBase {
  id: TriggerId;
  when: Condition;
  action: TriggerAction;
  missed: MissedPolicy;
  created_by: string;
  created_ts: number;
  /** How often it fired. */
  fired: number;
  last_due: number | null;
  last_cause: number | null;
  /** The fact that last changed it: made, fired or resumed. */
  last_seq: number;
  /** When it last began to count: made or resumed. */
  since_ts: number;
  /** Of one that waits for a change: what was there at the last look, or why nobody could look. */
  seen?: { hash: string; bytes: number };
  problem?: string;
}

export type OpenTrigger = TriggerBase & { status: "active" | "paused"; due: number | null };
export type TriggerState =
  | OpenTrigger
  | (TriggerBase & { status: "fired" | "expired" | "cancelled"; ended_ts: number });

/** A fact that an `on_event` trigger waited for, and when the trigger fires for it. */
export interface Match {
  seq: number;
  ts: number;
  due: number;
}

/**
 * The triggers of an agent.
 *
 * TRIGGERS-1. An occurrence that fired is `undone` until it is recorded as done. The process that opens the log carries
 *     out what is undone.
 * TRIGGERS-2. An `on_event` trigger matches each fact at most once, and pending matches are part of the fold, so a
 *     crash loses none.
 * TRIGGERS-3. It matches at most STORM_FACTS facts in STORM_SECONDS. Further facts are combined into one match, for the
 *     newest of them, as soon as there is room: a storm costs little, and its last fact is not missed.
 * TRIGGERS-4. Nothing wakes an agent for what the waking itself caused: neither for what happens in the run it began,
 *     nor for what the coordinator does in its own turns.
 */
export interface Triggers {
  /** The highest number given out. */
  made: number;
  /** Those that are active or paused. */
  open: Record<TriggerId, OpenTrigger>;
  /** The newest of those that ended. */
  settled: TriggerState[];
  undone: Record<string, Occurrence & { action: TriggerAction; news?: string }>;
  matches: Record<TriggerId, { recent: number[]; waiting: Match[] }>;
}

export const STORM_FACTS = 10;
export const STORM_SECONDS = 60;
const KEPT = 100;

export function noTriggers(): Triggers {
  return { made: 0, open: dict(), settled: [], undone: dict(), matches: dict() };
}

/** `begunBy` is the occurrence that began the current run, if that was a trigger. */
export function applyToTriggers(triggers: Triggers, fact: Fact, begunBy: string | null): void {
  switch (fact.type) {
    case "trigger.created":
      create(triggers, fact);
      return;
    case "trigger.fired":
      fire(triggers, fact);
      return;
    case "trigger.looked":
      look(triggers, fact);
      return;
    case "trigger.done":
      delete triggers.undone[occurrenceKey(fact.data)];
      return;
    case "trigger.rescheduled":
      change(triggers, fact, (trigger) => ({ ...trigger, due: fact.data.next_due }));
      return;
    case "trigger.paused":
      change(triggers, fact, (trigger) => ({ ...trigger, status: "paused" }));
      return;
    case "trigger.resumed":
      change(triggers, fact, (trigger) => {
        const again = { last_seq: fact.seq, since_ts: fact.ts };
        return { ...trigger, ...again, status: "active", due: fact.data.due };
      });
      return;
    case "trigger.cancelled":
      settle(triggers, fact.data.trigger_id, "cancelled", fact.ts);
      return;
    case "trigger.expired":
      settle(triggers, fact.data.trigger_id, "expired", fact.ts);
      return;
    default:
      match(triggers, fact, begunBy);
      return;
  }
}

/** A name may be made up: returns only triggers that exist. */
export function triggerNamed(triggers: Triggers, name: string): TriggerState | undefined {
  if (Object.hasOwn(triggers.open, name)) return triggers.open[name as TriggerId];
  return triggers.settled.findLast((trigger) => trigger.id === name);
}

function create(triggers: Triggers, { seq, ts, data }: FactOf<"trigger.created">): void {
  const { trigger_id: id, when, action, missed, due, created_by } = data;
  const begun = { created_by, created_ts: ts, fired: 0, last_due: null, last_cause: null, last_seq: seq, since_ts: ts };
  triggers.made = Math.max(triggers.made, Number(id.slice("trigger-".length)));
  triggers.open[id] = { id, when, action, missed, ...begun, status: "active", due };
  if (when.type === "on_event") triggers.matches[id] = { recent: [], waiting: [] };
}

function fire(triggers: Triggers, { seq, ts, data }: FactOf<"trigger.fired">): void {
  const { trigger_id: id, due, cause, next_due, news } = data;
  const trigger = triggers.open[id];
  if (!trigger) return;
  const occurrence = { trigger_id: id, due, ...(cause !== undefined && { cause }) };
  triggers.undone[occurrenceKey(occurrence)] = {
    ...occurrence,
    action: trigger.action,
    ...(news !== undefined && { news }),
  };
  const fired = { fired: trigger.fired + 1, last_due: due, last_cause: cause ?? null, last_seq: seq };
  triggers.open[id] = { ...trigger, ...fired, due: next_due };
  const matches = triggers.matches[id];
  if (matches) {
    const match = matches.waiting.find((each) => each.seq === cause);
    // What was delayed is counted when it fires.
    if (match && match.due > match.ts) matches.recent.push(ts);
    matches.waiting = matches.waiting.filter((each) => each !== match);
  }
  if (isOneShot(trigger.when)) settle(triggers, id, "fired", ts);
}

/** What was seen stays when it cannot be looked at: what is there afterwards is compared with it. */
function look(triggers: Triggers, { data: { trigger_id, seen, problem } }: FactOf<"trigger.looked">): void {
  const trigger = triggers.open[trigger_id];
  if (!trigger) return;
  const { problem: _, ...rest } = trigger;
  triggers.open[trigger_id] = { ...rest, ...(seen && { seen }), ...(problem !== undefined && { problem }) };
}

function isOneShot({ type }: Condition): boolean {
  return type === "delayed" || type === "at_time";
}

function change(
  triggers: Triggers,
  { data }: FactOf<"trigger.rescheduled" | "trigger.paused" | "trigger.resumed">,
  next: (trigger: OpenTrigger) => OpenTrigger,
): void {
  const trigger = triggers.open[data.trigger_id];
  if (trigger) triggers.open[trigger.id] = next(trigger);
}

function settle(triggers: Triggers, id: TriggerId, status: "fired" | "expired" | "cancelled", ended_ts: number): void {
  const trigger = triggers.open[id];
  if (!trigger) return;
  delete triggers.open[id];
  delete triggers.matches[id];
  triggers.settled.push({ ...baseOf(trigger), status, ended_ts });
  if (triggers.settled.length > KEPT) triggers.settled.shift();
}

function match(triggers: Triggers, fact: Fact, begunBy: string | null): void {
  for (const id of Object.keys(triggers.matches) as TriggerId[]) {
    const trigger = triggers.open[id];
    const matches = triggers.matches[id];
    if (trigger?.status !== "active" || trigger.when.type !== "on_event" || !matches) continue;
    if (!isAwaited(trigger.when.config, fact) || isOwnDoing(trigger, fact, begunBy)) continue;
    take(matches, fact);
  }
}

/** Otherwise each waking would be the reason for the next one. */
function isOwnDoing({ id, action }: OpenTrigger, fact: Fact, begunBy: string | null): boolean {
  if (action.type !== "wake_agent") return false;
  if (begunBy !== null && triggerIn(begunBy) === id) return true;
  return "worker_id" in fact.data && fact.data.worker_id === COORDINATOR && OF_A_TURN.test(fact.type);
}

const OF_A_TURN = /^(?:model|tool|worker|memory|process)\./;

function take(matches: { recent: number[]; waiting: Match[] }, { seq, ts }: Fact): void {
  // A clock that was set back must not make a storm of what is long over.
  matches.recent = matches.recent.filter((taken) => taken <= ts && ts - taken < STORM_SECONDS);
  const [oldest] = matches.recent;
  if (oldest === undefined || matches.recent.length < STORM_FACTS) {
    matches.recent.push(ts);
    matches.waiting.push({ seq, ts, due: ts });
    return;
  }
  const last = matches.waiting.at(-1);
  if (last && last.due > last.ts) matches.waiting.pop();
  matches.waiting.push({ seq, ts, due: oldest + STORM_SECONDS });
}

/** Without what only its status has. */
function baseOf(trigger: TriggerState): TriggerBase {
  const { id, when, action, missed, created_by, created_ts, fired, last_due, last_cause, last_seq, since_ts } = trigger;
  return { id, when, action, missed, created_by, created_ts, fired, last_due, last_cause, last_seq, since_ts };
}
