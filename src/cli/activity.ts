import type { Fact, WorkerId } from "../protocol/index.ts";
import { milliseconds } from "./format.ts";
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
        fact.data.retry_in_ms === null ? "gave up" : `tries again in ${milliseconds(fact.data.retry_in_ms)}`,
      );
      return;
    case "tool.called":
      activity.set(fact.data.worker_id, plain(`${fact.data.tool} ${fact.data.gist}`));
      return;
    case "worker.waiting":
      activity.set(fact.data.worker_id, WAITING[fact.data.for]);
      return;
    case "worker.idle":
    case "worker.stopped":
      activity.delete(fact.data.worker_id);
      return;
  }
}

const WAITING = {
  human: "waits for you",
  news: "waits for the team",
  rate_limit: "waits for the rate limit to pass",
  children: "waits for its sub-nodes",
  budget: "waits for room in the budget",
} as const;
