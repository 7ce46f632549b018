import type { Situation, WorkerState } from "../../projections/index.ts";
import { COORDINATOR, HUMAN } from "../../protocol/index.ts";
import type { Agent } from "../../runtime/agent.ts";

/**
 * Whether nothing can happen until a person answers. A question with a deadline resolves by itself, and so does waiting
 * for a rate limit.
 */
export function isParked({ agent, roster, questions, letters, board }: Situation): boolean {
  if (agent.status !== "waiting_for_human") return false;
  if (Object.values(questions.open).some((question) => question.deadline_ts !== undefined)) return false;
  if (Object.keys(questions.answered).length > 0) return false;
  if (Object.values(roster).some(goesOn)) return false;
  // A worker that is to begin has not been heard of yet.
  if (Object.values(board.nodes).some((node) => node.status === "assigned")) return false;
  // Mail wakes anyone who waits for news; it is only on its way.
  return !Object.values(letters.queued).some(({ reader, from }) => reader !== HUMAN && wakes(from, roster[reader]));
}

function goesOn(worker: WorkerState): boolean {
  const state = worker.status === "retired" ? worker.still : worker;
  if (state === null) return false;
  return (
    state.status === "busy" || (state.status === "waiting" && (state.for === "rate_limit" || state.for === "budget"))
  );
}

/** Anyone who waits for an answer hears the human and the coordinator all the same. */
function wakes(from: string, worker: WorkerState | undefined): boolean {
  if (worker?.status !== "waiting") return false;
  return worker.for !== "human" || from === HUMAN || from === COORDINATOR;
}

/** Between the end of one piece of work and what follows from it lies only our own disk. */
const QUIET_MS = 300;

interface Parkable {
  now: Situation;
  log: Pick<Agent["log"], "subscribe">;
}

/** Resolves when everything waits for the human and nothing else is in progress. */
export function whenParked({ log, now }: Parkable, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    clearTimeout(timer);
    if (now.agent.status === "waiting_for_human") timer = setTimeout(() => isParked(now) && resolve(), QUIET_MS);
  };
  const unwatch = log.subscribe(look);
  signal.addEventListener(
    "abort",
    () => {
      clearTimeout(timer);
      unwatch();
    },
    { once: true },
  );
  look();
  return promise;
}
