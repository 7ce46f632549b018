import type { Situation, TriggerState } from "../projections/index.ts";
import type { NewFact } from "../protocol/index.ts";
import { nextOccurrence } from "../triggers/cron.ts";

/** What wakes an infinite agent for its next cycle. */
export const NEXT_CYCLE =
  "The next cycle begins. Look at what has changed, do what your goal asks for, then checkpoint.";
const USUAL_CYCLE_SECONDS = 3600;
/** Every night somebody looks whether the memory wants upkeep; a model is asked only if it does. */
export const MEMORY_UPKEEP = "memory_upkeep";
const NIGHTLY = "0 4 * * *";

/** Whom triggers of the house itself are made by. */
const HOUSE = "agiraph";

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
