import type { FactOf, FactType } from "../protocol/index.ts";
import { count } from "./figures.ts";
import { actionWords, conditionWords } from "./phrases.ts";
import { by, details, type Sentences, type Style, thing } from "./sentence.ts";

/** Triggers. */
export const TRIGGERS: Sentences<Extract<FactType, `trigger.${string}`>> = {
  "trigger.created": ({ trigger_id, created_by, when, action, due }, style) =>
    by(created_by, style, `set ${trigger_id}, ${conditionWords(when)}`, {
      text: actionWords(action),
      detail: nextDue(due, style),
      tone: "new",
    }),
  "trigger.fired": ({ trigger_id, due, cause, action, next_due }, style) =>
    thing(trigger_id, `fires and ${FIRES[action]}`, {
      detail: details(cause === undefined ? `due ${style.time(due)}` : `because of ${cause}`, nextDue(next_due, style)),
      tone: "begins",
    }),
  "trigger.looked": ({ trigger_id, seen, problem }) =>
    problem === undefined
      ? thing(trigger_id, "looked for changes", { detail: seen && `saw ${count(seen.bytes, "byte")}` })
      : thing(trigger_id, "could not look", { text: problem, tone: "warning" }),
  "trigger.done": ({ trigger_id, problem }) =>
    problem === undefined
      ? thing(trigger_id, "was done", { tone: "done" })
      : thing(trigger_id, "could not be done", { text: problem, tone: "failed" }),
  "trigger.rescheduled": ({ trigger_id, why, due, next_due }, style) =>
    thing(trigger_id, RESCHEDULED[why], {
      next: nextDue(next_due, style),
      detail: `was due ${style.time(due)}`,
      tone: "warning",
    }),
  "trigger.paused": ({ trigger_id, by: whom }, { name }) =>
    thing(trigger_id, `was paused by ${name(whom)}`, { tone: "leaves" }),
  "trigger.resumed": ({ trigger_id, by: whom, due }, style) =>
    thing(trigger_id, `was resumed by ${style.name(whom)}`, { detail: nextDue(due, style), tone: "begins" }),
  "trigger.cancelled": ({ trigger_id, by: whom }, { name }) =>
    thing(trigger_id, `was cancelled by ${name(whom)}`, { tone: "leaves" }),
  "trigger.expired": ({ trigger_id, why }) => thing(trigger_id, "never fires again", { text: why, tone: "leaves" }),
};

function nextDue(due: number | null, { time }: Style): string | undefined {
  return due === null ? undefined : `next ${time(due)}`;
}

const FIRES: Readonly<Record<FactOf<"trigger.fired">["data"]["action"], string>> = {
  wake_agent: "wakes the agent",
  run_node: "lets its node begin",
  send_message: "sends its message",
  run_callback: "calls back",
};

const RESCHEDULED: Readonly<Record<FactOf<"trigger.rescheduled">["data"]["why"], string>> = {
  missed: "missed its time",
  clock_set_back: "waits again, because the clock was set back",
};
