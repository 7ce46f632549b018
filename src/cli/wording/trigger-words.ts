import type { Fact } from "../../protocol/index.ts";
import { actionIn, conditionIn } from "../../runtime/time/trigger-text.ts";
import { timestamp } from "./format.ts";
import { headline } from "./width.ts";

/** A fact about something that is to happen later, in one line. */
export function triggerWords(fact: Fact): string | undefined {
  switch (fact.type) {
    case "trigger.created": {
      const { trigger_id, due, action, created_by } = fact.data;
      const next = due === null ? "" : `, next ${timestamp(due)}`;
      return `${trigger_id} by ${created_by}: ${conditionIn(fact.data)}${next}: ${headline(actionIn(action))}`;
    }
    case "trigger.fired": {
      const { trigger_id, due, cause, action, next_due } = fact.data;
      const why = cause === undefined ? `due ${timestamp(due)}` : `because of ${cause}`;
      return `${trigger_id} ${why}: ${action}${next_due === null ? "" : `, next ${timestamp(next_due)}`}`;
    }
    case "trigger.looked": {
      const { trigger_id, seen, problem } = fact.data;
      return `${trigger_id} ${problem === undefined ? `saw ${seen?.bytes} bytes` : `cannot look: ${headline(problem)}`}`;
    }
    case "trigger.done":
      return `${fact.data.trigger_id}${fact.data.problem ? `: ${headline(fact.data.problem)}` : ""}`;
    case "trigger.rescheduled": {
      const { trigger_id, due, next_due, why } = fact.data;
      return `${trigger_id} ${WHY[why]}: ${timestamp(due)} → ${timestamp(next_due)}`;
    }
    case "trigger.paused":
    case "trigger.cancelled":
      return `${fact.data.trigger_id} by ${fact.data.by}`;
    case "trigger.resumed": {
      const { trigger_id, by, due } = fact.data;
      return `${trigger_id} by ${by}${due === null ? "" : `, next ${timestamp(due)}`}`;
    }
    case "trigger.expired":
      return `${fact.data.trigger_id}: ${fact.data.why}`;
    default:
      return undefined;
  }
}

const WHY = { missed: "missed its time", clock_set_back: "waits again, the clock was set back" } as const;
