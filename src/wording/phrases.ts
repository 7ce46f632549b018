import type { Condition, FactOf, Outcome, TriggerAction } from "../protocol/index.ts";
import { amount, count, duration, money } from "./figures.ts";

// Phrases that several sentences share, or that are used elsewhere.

/** How it ended and, as far as known, why. */
export function outcomeWords(outcome: Outcome): string {
  switch (outcome.kind) {
    case "finished":
    case "published":
      return outcome.summary;
    case "failed":
    case "abandoned":
      return outcome.error;
    case "exhausted":
      return `used all its ${count(outcome.turns, "turn")}`;
    case "budget_exhausted":
      return `the budget is spent (${outcome.spent_tokens === undefined ? money(outcome.spent_usd) : `${amount(outcome.spent_tokens)} tokens`})`;
    case "stopped":
      return "stopped";
  }
}

/** What was spent of a budget: money, or tokens if it was a budget of tokens. */
export function spentOf(spent: FactOf<"budget.exceeded" | "budget.warned">["data"]): string {
  const { spent_usd, budget_usd, spent_tokens, budget_tokens } = spent;
  return spent_tokens !== undefined && budget_tokens !== undefined
    ? `${amount(spent_tokens)} of ${amount(budget_tokens)} tokens`
    : `${money(spent_usd)}${budget_usd === undefined ? "" : ` of ${money(budget_usd)}`}`;
}

type Waiting = FactOf<"worker.waiting">["data"]["for"];

const WAITING: Readonly<Record<Waiting, string>> = {
  human: "waits for you",
  news: "waits for the team",
  rate_limit: "waits for the rate limit to pass",
  children: "waits for its sub-nodes",
  budget: "waits for room in the budget",
};

/** Why a worker waits, and until when, if that is known. */
export function waitingWords(
  { for: reason, until_ts }: { for: Waiting; until_ts?: number | undefined },
  time: (seconds: number) => string,
): string {
  return until_ts === undefined ? WAITING[reason] : `${WAITING[reason]}, until ${time(until_ts)}`;
}

export const POLICY = {
  all_must_complete: "all must complete",
  majority: "a majority must complete",
  any: "any one must complete",
} as const;

export function modelChangeWords({ model, worker_model, was }: FactOf<"model.set">["data"]): string {
  const lead = model === was.model ? [] : [`${model} instead of ${was.model}`];
  const isSame = worker_model === model && was.worker_model === was.model;
  const workers =
    worker_model === was.worker_model || isSame ? [] : [`workers ${worker_model} instead of ${was.worker_model}`];
  return [...lead, ...workers].join(", ");
}

/** When a trigger fires, in words; a cron expression is shown exactly as it was set. */
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
      return `when ${what} changes, checked every ${duration(every_seconds)}`;
    }
    case "on_idle":
      return `after ${duration(when.config.idle_seconds)} without anything happening`;
  }
}

function filterWords(filter: Readonly<Record<string, unknown>> | undefined): string {
  const fields = Object.entries(filter ?? {}).map(([name, value]) => `${name} is ${value}`);
  return fields.length === 0 ? "" : ` and ${fields.join(", ")}`;
}

/** What a trigger does when it fires. */
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
