import type { TriggerState } from "../../../src/projections/index.ts";
import { count, exactTime } from "../text/figures.ts";

/** The state of a trigger, and since when it has ended. */
export function triggerStateWords(trigger: TriggerState): string[] {
  const { status, fired, last_due } = trigger;
  const often = fired > 0 ? `fired ${count(fired, "time")}` : "";
  const last = last_due === null ? "" : `, last due ${exactTime(last_due)}`;
  // What ended by firing fired once.
  if ("ended_ts" in trigger)
    return [`${status} ${exactTime(trigger.ended_ts)}`, ...(status === "fired" || often === "" ? [] : [often])];
  const next = status === "active" && trigger.due !== null ? [`next ${exactTime(trigger.due)}`] : [];
  return [status, ...next, ...(often === "" ? [] : [`${often}${last}`])];
}
