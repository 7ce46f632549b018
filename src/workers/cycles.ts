import type { Situation, TriggerState } from "../projections/index.ts";
import { HOUSE, type NewFact } from "../protocol/index.ts";
import { nextOccurrence } from "../triggers/cron.ts";

/** What wakes an infinite agent for its next cycle. */
export const NEXT_CYCLE =
  "The next cycle begins. Do what your goal asks for, then checkpoint. If there is nothing to do, say so in a few words " +
  "and call nothing: that ends the cycle.";
const USUAL_CYCLE_SECONDS = 3600;
/** Every night somebody looks whether the memory wants upkeep; a model is asked only if it does. */
export const MEMORY_UPKEEP = "memory_upkeep";
const NIGHTLY = "0 4 * * *";

/** What only an infinite agent is told in its prompt, which is that of its first day. */
export function cycleRules({ cycle_seconds = USUAL_CYCLE_SECONDS }: { cycle_seconds?: number | undefined }): string {
  return `# Infinite mode

Your work has no end but finish (the goal is met for good) or your human. You work in cycles and sleep in between: you are woken ${secondsInWords(cycle_seconds)} after each cycle, by your triggers, and when somebody writes to you. This is set up already (list_triggers shows it): do not schedule it yourself. Each waking tells the date and what others changed in your memory. When a cycle's work is done, write down what the next one must know and call checkpoint, which ends the cycle. With nothing to do, answer in a few words and call nothing.`;
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
 * a person or a message, the cycle keeps its time. Upkeep that somebody cancelled stays cancelled.
 */
export function nextCycle(now: Situation, at: number, timeZone: string): NewFact[] {
  const { open, settled } = now.triggers;
  const hasCycle = Object.values(open).some(isCycle);
  // Both were made before the first sleep. Of those that are over only the newest are known: among them is a cycle, but
  // not for ever the upkeep that somebody cancelled.
  const hasUpkeep = [...Object.values(open), ...settled].some(({ created_by }) => created_by === HOUSE);
  const first = now.triggers.made + 1;
  const cycle = hasCycle ? [] : [cycleOf(now, first, at)];
  return [...cycle, ...(hasUpkeep ? [] : [upkeepAt(first + cycle.length, at, timeZone)])];
}

/** Whoever has met its goal has no further cycle. */
export function endOfCycles({ triggers }: Situation): NewFact[] {
  return Object.values(triggers.open)
    .filter(isCycle)
    .map(({ id }) => ({ type: "trigger.cancelled", data: { trigger_id: id, by: HOUSE } }));
}

function isCycle({ created_by, action }: TriggerState): boolean {
  return created_by === HOUSE && action.type === "wake_agent";
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
      created_by: HOUSE,
    },
  };
}

function cycleOf({ agent }: Situation, number: number, at: number): NewFact {
  const delay_seconds = agent.created.cycle_seconds ?? USUAL_CYCLE_SECONDS;
  return {
    type: "trigger.created",
    data: {
      trigger_id: `trigger-${number}`,
      when: { type: "delayed", config: { delay_seconds } },
      action: { type: "wake_agent", payload: { task: NEXT_CYCLE } },
      missed: "once",
      due: at / 1000 + delay_seconds,
      created_by: HOUSE,
    },
  };
}
