import { hasEnded, type Situation, type WorkerState } from "../../projections/index.ts";
import type { Clock } from "../../protocol/clock.ts";
import { HUMAN, type RunId, type WorkerId } from "../../protocol/index.ts";
import type { AgentLog } from "../../store/store.ts";

/**
 * Calls back when a worker has worked this long; returns a function that stops it. Time in which the worker could not
 * work, according to the log, does not count.
 */
export function ringAfter(
  ms: number,
  cannotWork: () => boolean,
  { clock, log }: { clock: Clock; log: AgentLog },
  ring: () => void,
): () => void {
  let left = ms;
  let alarm: { stop: AbortController; since: number } | undefined;
  const run = () => {
    const mine = { stop: new AbortController(), since: clock.now() };
    alarm = mine;
    clock.sleep(left, mine.stop.signal).then(
      () => alarm === mine && ring(),
      () => {},
    );
  };
  const rest = () => {
    if (!alarm) return;
    left = Math.max(0, left - (clock.now() - alarm.since));
    alarm.stop.abort(null); // nobody looks at the reason, and to make one up costs more than the rest
    alarm = undefined;
  };
  const unsubscribe = log.subscribe((fact) => {
    if (!fact.type.startsWith("worker.")) return;
    if (cannotWork()) rest();
    else if (!alarm) run();
  }, "all but turns");
  run();
  return () => {
    unsubscribe();
    rest();
  };
}

/**
 * Waiting for a rate limit, for the human or for others. If nobody is at work any more, waiting for
 * others leads nowhere: then the clock runs, and ends what would otherwise wait for ever. The human may take as long as
 * they like.
 */
export function cannotWork(id: WorkerId, run: RunId, now: Situation): boolean {
  if (id === HUMAN) return true;
  const work = workOf(now.roster[id]);
  if (work?.status !== "waiting") return false;
  if (GOES_ON_BY_ITSELF.has(work.for)) return true;
  if (work.for !== "children" && work.for !== "budget") return false;
  return Object.values(now.roster).some((other) => other.id !== id && isWorking(other, run, now));
}

/** What comes to an end without anybody in the team. */
const GOES_ON_BY_ITSELF = new Set(["rate_limit", "human"]);

function isWorking(worker: WorkerState, run: RunId, { board }: Situation): boolean {
  const work = workOf(worker);
  if (!work || (work.status === "waiting" && !GOES_ON_BY_ITSELF.has(work.for))) return false;
  const node = work.node_id === null ? undefined : board.nodes[work.node_id];
  return node?.spec.run_id === run && !hasEnded(node);
}

/** A worker that was let go finishes its work first. */
function workOf(worker: WorkerState | undefined) {
  if (worker?.status === "retired") return worker.still;
  return worker?.status === "busy" || worker?.status === "waiting" ? worker : null;
}
