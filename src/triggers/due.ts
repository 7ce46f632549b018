import {
  isAtRest,
  type OpenTrigger,
  type Situation,
  STORM_SECONDS,
  type TriggerState,
  unseenNews,
} from "../projections/index.ts";
import type { Condition, NewFact, Occurrence } from "../protocol/index.ts";
import { nextOccurrence } from "./cron.ts";

/** The facts to append now, and when to check again (in seconds); null: not before something happens. */
export interface Due {
  facts: NewFact[];
  next: number | null;
}

/** A check that comes later than this after a time has missed it. */
const LATE_SECONDS = 60;

/**
 * What is due at `at`. Pure: the same situation and time always give the same answer, and once its facts are appended
 * it gives none of them again.
 *
 * DUE-1. Each occurrence fires at most once, whatever the clock does: past firings are in the fold.
 * DUE-2. Of the times of one trigger that were missed, `once` fires for the first, and `skip` for none.
 * DUE-3. If the clock is set back, future times come again, but not those that have fired.
 * DUE-4. A heartbeat fires only if there is something the coordinator was not told, or a worker on a node has shown no
 *     progress for too long, once each time. Otherwise it leaves no trace.
 * DUE-5. A paused or stopped agent is not woken; when it continues, the times that passed meanwhile count as missed.
 */
export function whatIsDue(now: Situation, at: number): Due {
  const all: Due = { facts: [], next: null };
  if (isAtRest(now.agent)) return all;
  for (const trigger of Object.values(now.triggers.open)) {
    if (trigger.status !== "active") continue;
    const { facts, next } = dueOf(trigger, now, at);
    all.facts.push(...facts);
    if (next !== null) all.next = all.next === null ? next : Math.min(all.next, next);
  }
  return all;
}

/** The next due time, as far as it can be known, for people. */
export function nextDue(trigger: TriggerState, now: Situation, at: number): number | null {
  if (trigger.status !== "active") return null;
  if (trigger.when.type === "heartbeat") return beatsOf(trigger.since_ts, trigger.when.config, at).next;
  if (trigger.when.type === "on_change")
    return beatsOf(trigger.since_ts, { interval_seconds: trigger.when.config.every_seconds }, at).next;
  if (trigger.when.type === "on_idle") return idleOf(trigger, trigger.when.config, now).due;
  return trigger.due;
}

function dueOf(trigger: OpenTrigger, now: Situation, at: number): Due {
  switch (trigger.when.type) {
    case "scheduled":
      return scheduled(trigger, trigger.when.config, at);
    case "delayed":
    case "at_time":
      return oneShot(trigger, at);
    case "heartbeat":
      return heartbeat(trigger, trigger.when.config, now, at);
    case "on_event":
      return onEvent(trigger, now, at);
    case "on_change":
      return NOTHING; // anyone who looks knows
    case "on_idle":
      return onIdle(trigger, trigger.when.config, now, at);
  }
}

function scheduled(trigger: OpenTrigger, { cron, time_zone }: ConfigOf<"scheduled">, at: number): Due {
  const { id: trigger_id, due } = trigger;
  if (due === null) return NOTHING;
  if (due > at) {
    // Normally the same. If the clock was set back, the times in between come again, and none of them has fired.
    const next_due = nextOccurrence(cron, time_zone, Math.max(at, trigger.last_due ?? trigger.since_ts));
    if (next_due === null || next_due >= due) return { facts: [], next: due };
    const data = { trigger_id, due, next_due, why: "clock_set_back" } as const;
    return { facts: [{ type: "trigger.rescheduled", data }], next: next_due };
  }
  const next_due = nextOccurrence(cron, time_zone, at);
  const facts: NewFact[] = [];
  if (!isMissed(trigger, due, at)) facts.push(fired(trigger, { trigger_id, due }, next_due));
  else if (next_due !== null)
    facts.push({ type: "trigger.rescheduled", data: { trigger_id, due, next_due, why: "missed" } });
  if (next_due === null)
    facts.push({ type: "trigger.expired", data: { trigger_id, why: "It names no further time." } });
  return { facts, next: next_due };
}

function oneShot(trigger: OpenTrigger, at: number): Due {
  const { id: trigger_id, due } = trigger;
  if (due === null || due > at) return { facts: [], next: due };
  if (!isMissed(trigger, due, at)) return { facts: [fired(trigger, { trigger_id, due }, null)], next: null };
  const why = "Its time passed while the agent was not running.";
  return { facts: [{ type: "trigger.expired", data: { trigger_id, why } }], next: null };
}

function heartbeat(trigger: OpenTrigger, config: ConfigOf<"heartbeat">, now: Situation, at: number): Due {
  const news = unseenNews(now.attention, trigger.last_seq);
  const beats = beatsOf(trigger.since_ts, config, at);
  const { stuck, next } = stuckWorkers(trigger, config, now, beats.last ?? Number.NEGATIVE_INFINITY);
  // Nothing new: not even an alarm is set but for who may get stuck. News is a fact, and a fact makes the alarms look again.
  if (!news && stuck.length === 0) return { facts: [], next };
  // What came after the beat waits for the next one. News from the future: the clock was set back since.
  const wasThere = news && beats.last !== null && (news.ts <= beats.last || news.ts > at);
  if (beats.last === null || !(wasThere || stuck.length > 0) || isMissed(trigger, beats.last, at))
    return { facts: [], next: beats.next };
  const occurrence = { trigger_id: trigger.id, due: beats.last, ...(wasThere && { cause: news.seq }) };
  return { facts: [fired(trigger, occurrence, null, stuck.join("\n"))], next: null };
}

const USUAL_STUCK_SECONDS = 900;

/** Who has shown no progress for too long at a beat and was not told of yet, in words; and the next beat at which somebody may. */
function stuckWorkers(
  trigger: OpenTrigger,
  config: ConfigOf<"heartbeat">,
  { attention, roster }: Situation,
  beat: number,
) {
  const { stuck_seconds = USUAL_STUCK_SECONDS, interval_seconds } = config;
  const stuck: string[] = [];
  let next: number | null = null;
  for (const [id, { ts }] of Object.entries(attention.signs)) {
    const since = ts + stuck_seconds;
    const worker = roster[id];
    const node = worker && "node_id" in worker ? worker.node_id : null;
    if (!worker || node === null || since <= (trigger.last_due ?? Number.NEGATIVE_INFINITY)) continue;
    if (since <= beat) stuck.push(`${worker.spawned.name} on ${node} has shown no progress for ${minutes(beat - ts)}.`);
    else {
      const beats = Math.max(1, Math.ceil((since - trigger.since_ts) / interval_seconds));
      const due = trigger.since_ts + beats * interval_seconds;
      next = next === null ? due : Math.min(next, due);
    }
  }
  return { stuck, next };
}

function minutes(seconds: number): string {
  const number = Math.round(seconds / 60);
  return seconds < 120 ? `${Math.round(seconds)} seconds` : `${number} minutes`;
}

function onEvent(trigger: OpenTrigger, now: Situation, at: number): Due {
  const waiting = now.triggers.matches[trigger.id]?.waiting ?? [];
  // Delayed in a storm, it waits for room, but never longer than a storm lasts: the clock may have been set back.
  const mustWait = (match: (typeof waiting)[number]) =>
    match.due > match.ts && match.due > at && match.due - at <= STORM_SECONDS;
  const facts = waiting
    .filter((match) => !mustWait(match))
    .map((match) => fired(trigger, { trigger_id: trigger.id, due: match.due, cause: match.seq }, null));
  return { facts, next: waiting.find(mustWait)?.due ?? null };
}

function onIdle(trigger: OpenTrigger, config: ConfigOf<"on_idle">, now: Situation, at: number): Due {
  const { due, cause } = idleOf(trigger, config, now);
  if (due === null || due > at) return { facts: [], next: due };
  if (isMissed(trigger, due, at)) return NOTHING;
  return { facts: [fired(trigger, { trigger_id: trigger.id, due, cause }, null)], next: null };
}

/** Once for each stretch: not again before somebody has done something. */
function idleOf(trigger: TriggerState, { idle_seconds }: ConfigOf<"on_idle">, { attention }: Situation) {
  const { seq: cause, ts } = attention.active;
  const due = trigger.last_cause === cause ? null : Math.max(ts, trigger.since_ts) + idle_seconds;
  return { due, cause };
}

/** Beats are counted from the creation, so that delays do not add up. */
export function beatsOf(since: number, { interval_seconds }: { interval_seconds: number }, at: number) {
  const count = Math.max(0, Math.floor((at - since) / interval_seconds));
  const beat = (number: number) => Math.round((since + number * interval_seconds) * 1000) / 1000;
  return { last: count > 0 ? beat(count) : null, next: beat(count + 1) };
}

function isMissed({ missed }: TriggerState, due: number, at: number): boolean {
  return missed === "skip" && at - due > LATE_SECONDS;
}

function fired({ action }: TriggerState, occurrence: Occurrence, next_due: number | null, news = ""): NewFact {
  const { trigger_id, due, cause } = occurrence;
  const which = { trigger_id, due, ...(cause !== undefined && { cause }) };
  return { type: "trigger.fired", data: { ...which, action: action.type, next_due, ...(news !== "" && { news }) } };
}

const NOTHING: Due = { facts: [], next: null };

type ConfigOf<T extends Condition["type"]> = Extract<Condition, { type: T }>["config"];
