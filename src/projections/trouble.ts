import { own } from "../protocol/dict.ts";
import type { Fact, WorkerId } from "../protocol/index.ts";

/**
 * Workers that look busy but only wait for their model's provider, which does not answer.
 *
 * TROUBLE-1. One failed attempt that is retried at once does not count; two in a row, a long wait or a silence do.
 * TROUBLE-2. It ends with the next answer, and when that worker no longer works.
 */
export interface Trouble {
  worker_id: WorkerId;
  model: string;
  /** `connection`, `rate_limited`, `server`, `stalled` …, as `model.failed` has it. */
  reason: string;
  /** What went wrong, in whole words. */
  message: string;
  /** Since the first try that failed, in seconds since 1970. */
  since_ts: number;
  /** How many tries in a row have failed. */
  tries: number;
  /** When it is tried again. Null: at once, or not at all. */
  retry_ts: number | null;
}

export type Troubles = Record<WorkerId, Trouble>;

const FAILURES_IN_A_ROW = 2;
const LONG_WAIT_SECONDS = 5;

export function applyToTroubles(troubles: Troubles, fact: Fact): void {
  switch (fact.type) {
    case "model.failed": {
      const { worker_id, model, reason, message, retry_in_ms } = fact.data;
      const { since_ts = fact.ts, tries = 0 } = troubles[worker_id] ?? {};
      const retry_ts = retry_in_ms === null ? null : fact.ts + retry_in_ms / 1000;
      troubles[worker_id] = { worker_id, model, reason, message, since_ts, tries: tries + 1, retry_ts };
      return;
    }
    case "worker.waiting": {
      const trouble = troubles[fact.data.worker_id];
      if (trouble && fact.data.for === "rate_limit") trouble.retry_ts = fact.data.until_ts ?? null;
      return;
    }
    case "model.responded":
    case "tool.called":
    case "worker.idle":
    case "worker.stopped":
    case "worker.retired":
      delete troubles[fact.data.worker_id];
      return;
    case "agent.started":
    case "agent.paused":
    case "agent.stopped":
    case "agent.completed":
    case "agent.failed":
    case "run.finished":
      for (const id in troubles) delete troubles[id];
      return;
  }
}

/** Those that are worth reporting, the longest first. */
export function troublesOf(troubles: Troubles): Trouble[] {
  return Object.values(troubles)
    .filter(isTold)
    .sort((a, b) => a.since_ts - b.since_ts);
}

/** The trouble of one worker, if it is worth reporting. */
export function troubleOf(troubles: Troubles, worker: WorkerId): Trouble | undefined {
  const trouble = troubles[worker];
  return trouble && isTold(trouble) ? trouble : undefined;
}

function isTold({ tries, reason, since_ts, retry_ts }: Trouble): boolean {
  if (tries >= FAILURES_IN_A_ROW || reason === "stalled") return true;
  return retry_ts !== null && retry_ts - since_ts >= LONG_WAIT_SECONDS;
}

/** In a few words, which fit into every list. */
export function troubleWords({ reason }: Pick<Trouble, "reason">): string {
  return own(WORDS, reason) ?? "model fails";
}

const WORDS: Readonly<Record<string, string>> = {
  connection: "model unreachable",
  stalled: "model silent",
  rate_limited: "rate limited",
  server: "provider fails",
  auth: "key refused",
  unreadable: "unreadable answer",
  truncated: "stream broke off",
  empty: "empty reply",
  redirected: "redirected",
  bad_request: "request refused",
  context_too_long: "conversation too long",
};
