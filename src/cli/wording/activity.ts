import { troubleWords } from "../../projections/trouble.ts";
import type { Fact, WorkerId } from "../../protocol/index.ts";
import { waitingWords } from "../../wording/phrases.ts";
import { milliseconds, timestamp } from "./format.ts";
import { plain } from "./width.ts";

/** What each worker is doing right now, in a few words. Only for display: it is not part of the record. */
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
      activity.set(fact.data.worker_id, waitingNow(fact.data));
      return;
    case "worker.busy":
      if (isWaiting(activity.get(fact.data.worker_id))) activity.set(fact.data.worker_id, "continues");
      return;
    case "worker.idle":
    case "worker.stopped":
      activity.delete(fact.data.worker_id);
      return;
  }
}

/** Why a worker waits, and until when, if that is known. */
export function waitingNow(waiting: Parameters<typeof waitingWords>[0]): string {
  return waitingWords(waiting, (seconds) => timestamp(seconds).slice(11));
}

function isWaiting(words: string | undefined): boolean {
  return words?.startsWith("waits for ") ?? false;
}
