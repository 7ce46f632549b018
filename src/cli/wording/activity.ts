import { troubleWords } from "../../projections/trouble.ts";
import type { Fact, FactOf, WorkerId } from "../../protocol/index.ts";
import { milliseconds, timestamp } from "./format.ts";
import { plain } from "./width.ts";

/** What each worker is doing this moment, in a few words. Only for whoever looks on: it is no part of the record. */
export type Activity = Map<WorkerId, string>;

export function applyToActivity(activity: Activity, fact: Fact): void {
  switch (fact.type) {
    case "model.called":
      activity.set(fact.data.worker_id, "thinking");
      return;
    case "model.failed":
      activity.set(
        fact.data.worker_id,
        `${troubleWords(fact.data)}, ${fact.data.retry_in_ms === null ? "gave up" : `tries again in ${milliseconds(fact.data.retry_in_ms)}`}`,
      );
      return;
    case "tool.called":
      activity.set(fact.data.worker_id, plain(`${fact.data.tool} ${fact.data.gist === "{}" ? "" : fact.data.gist}`));
      return;
    case "worker.waiting":
      activity.set(fact.data.worker_id, waitingWords(fact.data));
      return;
    case "worker.busy":
      if (isWaiting(activity.get(fact.data.worker_id))) activity.set(fact.data.worker_id, "goes on");
      return;
    case "worker.idle":
    case "worker.stopped":
      activity.delete(fact.data.worker_id);
      return;
  }
}

type Waiting = FactOf<"worker.waiting">["data"]["for"];

const WAITING: Record<Waiting, string> = {
  human: "waits for you",
  news: "waits for the team",
  rate_limit: "waits for the rate limit to pass",
  children: "waits for its sub-nodes",
  budget: "waits for room in the budget",
};

/** Why somebody waits, and until when, where that is known. */
export function waitingWords({ for: reason, until_ts }: { for: Waiting; until_ts?: number | undefined }): string {
  return until_ts === undefined ? WAITING[reason] : `${WAITING[reason]}, until ${timestamp(until_ts).slice(11)}`;
}

function isWaiting(words: string | undefined): boolean {
  return words?.startsWith("waits for ") ?? false;
}
