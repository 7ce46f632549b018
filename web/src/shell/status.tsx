import {
  isAsleep,
  needsDecision,
  type Situation,
  troubleOf,
  troublesOf,
  troubleWords,
  type WorkerState,
  wakes,
} from "../../../src/projections/index.ts";
import { COORDINATOR } from "../../../src/protocol/index.ts";
import type { AgentSummary } from "../live/api.ts";
import { clockTime } from "../text/figures.ts";

/** The status of an agent or a worker: shown by shape as well as by colour. */
export type Status =
  | "idle"
  | "working"
  | "trouble"
  | "asking"
  | "waiting"
  | "asleep"
  | "done"
  | "failed"
  | "paused"
  | "stopped"
  | "retired"
  | "unable"
  | "pending";

const LOOKS: Record<Status, { colour: string; label: string }> = {
  idle: { colour: "text-ok", label: "idle" },
  done: { colour: "text-ok", label: "done" },
  working: { colour: "text-busy", label: "working" },
  trouble: { colour: "text-bad", label: "its model does not answer" },
  waiting: { colour: "text-busy", label: "waiting for the team" },
  asleep: { colour: "text-ok", label: "asleep" },
  asking: { colour: "text-wait", label: "waiting for you" },
  failed: { colour: "text-bad", label: "failed" },
  unable: { colour: "text-bad", label: "cannot start" },
  paused: { colour: "text-dim", label: "paused" },
  stopped: { colour: "text-dim", label: "stopped" },
  retired: { colour: "text-dim", label: "retired" },
  pending: { colour: "text-dim", label: "pending" },
};

export function labelOf(status: Status): string {
  return LOOKS[status].label;
}

export function colourOf(status: Status): string {
  return LOOKS[status].colour;
}

/** The class of an element with many dots: if more than a dozen are at work, none of them is animated. */
export function crowd(all: readonly { status: string }[], atWork: string): string {
  return all.filter(({ status }) => status === atWork).length > MOST_TURNING ? "crowd" : "";
}

const MOST_TURNING = 12;

/** With `isBeside` the status stands in words beside it, and is not told twice. */
export function StatusDot({ status, title, isBeside = false }: { status: Status; title?: string; isBeside?: boolean }) {
  // The whole picture turns: the compositor does that alone, and the page need not be painted for it.
  const className = `size-3 shrink-0 ${colourOf(status)} ${status === "working" ? "spin" : ""}`;
  if (isBeside) {
    return (
      <svg viewBox="0 0 12 12" className={className} aria-hidden="true">
        {shapeOf(status)}
      </svg>
    );
  }
  return (
    <svg viewBox="0 0 12 12" className={className} role="img" aria-label={title ?? labelOf(status)}>
      <title>{title ?? labelOf(status)}</title>
      {shapeOf(status)}
    </svg>
  );
}

function shapeOf(status: Status) {
  switch (status) {
    case "idle":
      return <circle cx="6" cy="6" r="4" fill="currentColor" />;
    case "done":
      return <path d="M2 6.4 4.8 9 10 3.2" fill="none" stroke="currentColor" strokeWidth="2" />;
    case "working":
      return (
        <>
          <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" strokeWidth="1.6" opacity="0.35" />
          <path d="M6 1.8A4.2 4.2 0 0 1 10.2 6" fill="none" stroke="currentColor" strokeWidth="1.8" />
        </>
      );
    case "trouble":
    case "unable":
      return (
        <path d="M6 1 11.4 10.8H.6ZM5.4 4.4v3h1.2v-3Zm0 3.8v1.3h1.2V8.2Z" fill="currentColor" fillRule="evenodd" />
      );
    case "waiting":
      return (
        <>
          <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" strokeWidth="1.6" />
          <circle cx="6" cy="6" r="1.6" fill="currentColor" />
        </>
      );
    case "asleep":
      return <path d="M7.6 1.2A5 5 0 1 0 10.8 8 4.3 4.3 0 0 1 7.6 1.2Z" fill="currentColor" />;
    case "asking":
      return <path d="M6 .8 11.2 6 6 11.2.8 6Z" fill="currentColor" />;
    case "failed":
      return <path d="m2.5 2.5 7 7m0-7-7 7" fill="none" stroke="currentColor" strokeWidth="2" />;
    case "paused":
      return <path d="M3 2h2.2v8H3zM6.8 2H9v8H6.8z" fill="currentColor" />;
    case "stopped":
      return <rect x="2.5" y="2.5" width="7" height="7" rx="1" fill="currentColor" />;
    case "retired":
    case "pending":
      return <circle cx="6" cy="6" r="3.7" fill="none" stroke="currentColor" strokeWidth="1.5" />;
  }
}

function statusOfWorker(worker: WorkerState | undefined): Status {
  switch (worker?.status) {
    case "busy":
      return "working";
    case "waiting":
      return worker.for === "human" ? "asking" : "waiting";
    case "retired":
      return "retired";
    case "stopped":
      return "stopped";
    default:
      return "idle";
  }
}

/**
 * The status of a worker.
 * PAGE-STATUS-1. While the agent rests nobody is free or at work: the coordinator has the agent's status, the others
 *     rest with it.
 * PAGE-STATUS-2. An open question to the person, and being gone, do not depend on the agent's status. Workers hired for
 *     an earlier run are gone with it.
 * PAGE-STATUS-3. A worker that waits for a model that does not answer is not at work.
 */
export function statusInTeam(now: Situation, id: string): Status {
  const worker = now.roster[id];
  const own = statusOfWorker(worker);
  if (own === "asking" || own === "retired") return own;
  const { status, run } = now.agent;
  if (id !== COORDINATOR && run !== null && worker && worker.spawned.run_id !== run.id) return "retired";
  const rests = status === "paused" || status === "stopped" || status === "failed";
  if (id === COORDINATOR && (rests || status === "completed" || isAsleep(now))) return statusNow(now);
  if (rests) return status === "paused" ? "paused" : "stopped";
  const isBusy = worker?.status === "busy" || worker?.status === "waiting";
  return isBusy && troubleOf(now.troubles, id) ? "trouble" : own;
}

/** The status of an agent in a list. */
export function statusOfSummary({ status, trouble, needs_decision, asleep }: AgentSummary): Status {
  if (status === "paused" && needs_decision) return "asking";
  if (status === "working" && trouble) return "trouble";
  return asleep ? "asleep" : statusOfAgent(status);
}

/** The status in words, if there is room for more than a dot. */
export function wordsOfSummary(summary: AgentSummary): string {
  const status = statusOfSummary(summary);
  return status === "trouble" && summary.trouble ? troubleWords(summary.trouble) : labelOf(status);
}

function statusOfAgent(status: AgentSummary["status"]): Status {
  switch (status) {
    case "working":
      return "working";
    case "waiting_for_human":
      return "asking";
    case "completed":
      return "done";
    case "failed":
      return "failed";
    case "paused":
      return "paused";
    case "stopped":
      return "stopped";
    default:
      return "idle";
  }
}

/**
 * The status of an open agent: between its cycles it is asleep, not at work; paused while it waits for an answer, it
 * asks.
 */
export function statusNow(now: Situation): Status {
  if (now.agent.status === "paused" && needsDecision(now.agent)) return "asking";
  if (now.agent.status === "working" && troublesOf(now.troubles).length > 0) return "trouble";
  return now.agent.status === "working" && isAsleep(now) ? "asleep" : statusOfAgent(now.agent.status);
}

/** `asleep until 14:05`, if the clock will wake it. */
export function statusWords(now: Situation): string {
  const status = statusNow(now);
  const [trouble] = troublesOf(now.troubles);
  if (status === "trouble" && trouble) return troubleWords(trouble);
  const times = Object.values(now.triggers.open).flatMap((each) =>
    wakes(each) && each.due !== null ? [each.due] : [],
  );
  return status === "asleep" && times.length > 0 ? `asleep until ${clockTime(Math.min(...times))}` : labelOf(status);
}

/** By the words of `shownNodeStatus`. */
export function statusOfNode(words: string): Status {
  switch (words) {
    case "needs you":
      return "asking";
    case "paused":
      return "paused";
    case "stopped":
    case "cancelled":
      return "stopped";
    case "completed":
      return "done";
    case "failed":
      return "failed";
    case "running":
    case "publishing":
      return "working";
    case "assigned":
      return "waiting";
    default:
      return "pending";
  }
}
