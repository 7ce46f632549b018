import type { Situation, TriggerState } from "../../projections/index.ts";
import {
  AGIRAPH,
  type Condition,
  LEAST_FOR_URL,
  LEAST_SECONDS,
  type NewFact,
  type Watched,
} from "../../protocol/index.ts";
import { nextOccurrence } from "../../triggers/cron.ts";

/** What wakes an infinite agent for its next cycle. */
const NEXT_CYCLE =
  "The next cycle begins. Do what your goal asks for, then checkpoint. To look, call the command and checkpoint in one " +
  "reply: if the command fails, the checkpoint is not made.";
/** What an agent is told that has worked, has written no checkpoint and is about to sleep. */
export const BEFORE_SLEEP =
  "Your cycle is about to end, and after a long sleep most of this conversation is no longer shown to you. Write down " +
  "what the next cycle must know and no file says yet, then call checkpoint.";
const USUAL_CYCLE_SECONDS = 3600;
/** Looking more often than this costs less than being told of a change. */
const WORTH_WATCHING = 600;
const RETRY_SECONDS = 600;
/** A look costs no model call. */
const USUAL_LOOK_SECONDS = 60;
const USUAL_FOR_URL = 300;
/** Looks every night whether the memory needs upkeep; a model is asked only if it does. */
export const MEMORY_UPKEEP = "memory_upkeep";
const NIGHTLY = "0 4 * * *";

export function isInfinite({ now }: { now(): Situation }): boolean {
  return now().agent.created.mode === "infinite";
}

interface CycleOrder {
  cycle_seconds?: number | undefined;
  watch?: Watched | undefined;
}

/** What only an infinite agent is told in its prompt, which stays that of its first day. */
export function cycleRules({ cycle_seconds = USUAL_CYCLE_SECONDS, watch }: CycleOrder): string {
  const change =
    watch || cycle_seconds < WORTH_WATCHING
      ? ""
      : " To hear of a change without looking for it every time, schedule an on_change trigger: waiting for it costs nothing.";
  const when = watch
    ? `when ${watch.url ?? watch.path ?? `the output of ${watch.command}`} changes`
    : `${secondsInWords(cycle_seconds)} after each cycle`;
  return `# Infinite mode

Your work has no end but finish (the goal is met for good) or your human. You work in cycles and sleep in between: you are woken ${when}, by your triggers, and when somebody writes to you${watch ? "" : ", which does not move the next cycle"}. This is set up already (list_triggers shows it): do not schedule it yourself.${change} Each waking tells the date and what others changed in your memory. When a cycle's work is done, write down what the next one must know and call checkpoint, which ends the cycle. With nothing to do, answer in a few words and call nothing.`;
}

function secondsInWords(seconds: number): string {
  const [unit, of] = UNITS.find(([, size]) => seconds % size === 0) ?? ["second", 1];
  return `${seconds / of} ${unit}${seconds === of ? "" : "s"}`;
}

const UNITS: readonly [string, number][] = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

/**
 * The alarms of an infinite agent, unless they are set: its next cycle, and the upkeep of its memory. Woken earlier, by
 * a person, a message or a trigger, the cycle keeps its time: moved each time, it might never come. Upkeep that somebody cancelled stays cancelled.
 */
export function nextCycle(now: Situation, at: number, timeZone: string, why: "cycle" | "retry" = "cycle"): NewFact[] {
  const { open, settled } = now.triggers;
  const isSet = (trigger: TriggerState) => isCycle(trigger) && (why === "cycle" || trigger.when.type === "delayed");
  const hasCycle = Object.values(open).some(isSet);
  // Both were made before the first sleep. Of triggers that are over only the newest are known: a cycle is always among
  // them, but an upkeep that was cancelled long ago is not.
  const hasUpkeep = [...Object.values(open), ...settled].some(({ created_by }) => created_by === AGIRAPH);
  const first = now.triggers.made + 1;
  const cycle = hasCycle ? [] : [why === "retry" ? retryOf(now, first, at) : cycleOf(now, first, at)];
  return [...cycle, ...(hasUpkeep ? [] : [upkeepAt(first + cycle.length, at, timeZone)])];
}

/** An agent that has met its goal has no further cycles. */
export function endOfCycles({ triggers }: Situation): NewFact[] {
  return Object.values(triggers.open)
    .filter(isCycle)
    .map(({ id }) => ({ type: "trigger.cancelled", data: { trigger_id: id, by: AGIRAPH } }));
}

export function isCycle({ created_by, action }: Pick<TriggerState, "created_by" | "action">): boolean {
  return created_by === AGIRAPH && action.type === "wake_agent";
}

function upkeepAt(number: number, at: number, time_zone: string): NewFact {
  return {
    type: "trigger.created",
    data: {
      trigger_id: `trigger-${number}`,
      when: { type: "scheduled", config: { cron: NIGHTLY, time_zone } },
      action: { type: "run_callback", payload: { name: MEMORY_UPKEEP } },
      missed: "once",
      due: nextOccurrence(NIGHTLY, time_zone, at / 1000),
      created_by: AGIRAPH,
    },
  };
}

/** The clock, or what this agent is to watch. */
function cycleOf({ agent }: Situation, number: number, at: number): NewFact {
  const { cycle_seconds, watch } = agent.created;
  if (!watch) return wakingIn(cycle_seconds ?? USUAL_CYCLE_SECONDS, number, at);
  const [usual, least] = watch.url === undefined ? [USUAL_LOOK_SECONDS, LEAST_SECONDS] : [USUAL_FOR_URL, LEAST_FOR_URL];
  const every_seconds = Math.max(cycle_seconds ?? usual, least);
  return wakingBy({ type: "on_change", config: { ...watch, every_seconds } }, number, null);
}

/** After a failure, for example of the provider: an outage of minutes must not cost a day. */
function retryOf({ agent }: Situation, number: number, at: number): NewFact {
  return wakingIn(Math.min(agent.created.cycle_seconds ?? USUAL_CYCLE_SECONDS, RETRY_SECONDS), number, at);
}

function wakingIn(delay_seconds: number, number: number, at: number): NewFact {
  return wakingBy({ type: "delayed", config: { delay_seconds } }, number, at / 1000 + delay_seconds);
}

function wakingBy(when: Condition, number: number, due: number | null): NewFact {
  const action = { type: "wake_agent", payload: { task: NEXT_CYCLE } } as const;
  return {
    type: "trigger.created",
    data: { trigger_id: `trigger-${number}`, when, action, missed: "once", due, created_by: AGIRAPH },
  };
}
