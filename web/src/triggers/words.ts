import type { TriggerState } from "../../../src/projections/index.ts";
import type { Condition, TriggerAction } from "../../../src/protocol/index.ts";
import { count, exactTime } from "../text/figures.ts";

/** How it stands, and since when it is over. */
export function standingWords(trigger: TriggerState): string[] {
  const { status, fired, last_due } = trigger;
  const often = fired > 0 ? `fired ${count(fired, "time")}` : "";
  const last = last_due === null ? "" : `, last due ${exactTime(last_due)}`;
  // What ended by firing fired once.
  if ("ended_ts" in trigger)
    return [`${status} ${exactTime(trigger.ended_ts)}`, ...(status === "fired" || often === "" ? [] : [often])];
  const next = status === "active" && trigger.due !== null ? [`next ${exactTime(trigger.due)}`] : [];
  return [status, ...next, ...(often === "" ? [] : [`${often}${last}`])];
}

/** When it fires, as one says it; a calendar is said exactly as it was set. */
export function conditionWords(when: Condition): string {
  switch (when.type) {
    case "scheduled":
      return `by calendar: ${when.config.cron} (${when.config.time_zone})`;
    case "delayed":
      return `${duration(when.config.delay_seconds)} after it was set`;
    case "at_time":
      return `at ${when.config.at} (${when.config.time_zone})`;
    case "heartbeat":
      return `every ${duration(when.config.interval_seconds)}, if anything is new`;
    case "on_event":
      return `when ${when.config.event_pattern} happens${filterWords(when.config.filter)}`;
    case "on_change": {
      const { path, url, command, every_seconds } = when.config;
      const what = url ?? path ?? `what \`${command}\` prints`;
      return `when ${what} changes, looked at every ${duration(every_seconds)}`;
    }
    case "on_idle":
      return `after ${duration(when.config.idle_seconds)} without anything happening`;
  }
}

/** What happens then. */
export function actionWords(action: TriggerAction): string {
  switch (action.type) {
    case "wake_agent":
      return action.payload.task;
    case "run_node":
      return `run ${action.payload.node_id}`;
    case "send_message":
      return `say to ${action.payload.to}: ${action.payload.content}`;
    case "run_callback":
      return `call ${action.payload.name}`;
  }
}

const UNITS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

/** `90 seconds`, `2 hours`: the largest unit that leaves nothing over. */
export function duration(seconds: number): string {
  const [unit, size] = UNITS.find(([, length]) => seconds >= length && seconds % length === 0) ?? ["second", 1];
  const number = seconds / size;
  return `${number} ${unit}${number === 1 ? "" : "s"}`;
}

function filterWords(filter: Readonly<Record<string, unknown>> | undefined): string {
  const fields = Object.entries(filter ?? {}).map(([name, value]) => `${name} is ${value}`);
  return fields.length === 0 ? "" : ` and ${fields.join(", ")}`;
}
