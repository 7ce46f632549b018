import {
  type Board,
  hasEnded,
  idleWorkers,
  type NodeState,
  numberOf,
  type Situation,
  type WaitingWork,
  waitingWork,
} from "../../projections/index.ts";
import { COORDINATOR, HUMAN, type NewFact, type RunId, type WorkerId } from "../../protocol/index.ts";
import { hiredAs, type ProgramNames } from "../../workers/outside/programs.ts";
import { barredFrom, wantedFor } from "./not-by.ts";
import { freeName, workerIdOf } from "./worker-names.ts";

interface SchedulerSettings {
  maxConcurrent: number;
  /** They may stand where the workers' model does. */
  programs: ProgramNames;
}

/**
 * Which worker gets which node now. Pure: the same situation always gives the same answer.
 *
 * SCHEDULER-0. After a stop nobody begins until the coordinator has decided.
 * SCHEDULER-1. Oldest ready node first. A node that is reserved waits for its worker; the others do not wait behind it.
 * SCHEDULER-2. Idle workers are used before anybody is hired, in the order they were hired; those that are reserved
 *     come last.
 * SCHEDULER-3. At most `maxConcurrent` work at the same time. Workers that wait for sub-nodes, for people or for the
 *     team do not count: otherwise parents could keep their own children from beginning.
 * SCHEDULER-4. A worker that is barred from a node (`not_by`) never gets it, unless a person assigned it. Somebody else
 *     does, and is hired if there is nobody else.
 * SCHEDULER-5. A person gets what was given to them at once: beside what they have already, also if nobody else may
 *     begin. It takes nobody's place.
 */
export function assignments(now: Situation, { maxConcurrent, programs }: SchedulerSettings): NewFact[] {
  const run = now.agent.run;
  const facts = givenToHuman(now);
  if (!run || run.finished || now.agent.coordinator_decides) return facts;
  const work = waitingWork(now.board, run.id);
  if (!isReady(work)) return facts;
  let capacity = maxConcurrent - workingNow(now, run.id);
  if (capacity <= 0) return facts;
  const idle = idleWorkers(now.roster)
    .filter((worker) => worker.id !== COORDINATOR && worker.id !== HUMAN && worker.spawned.run_id === run.id)
    .map((worker) => worker.id);
  const isWanted = (id: WorkerId) => (work.reserved.get(id)?.length ?? 0) > 0;
  const free = [...idle.filter((id) => !isWanted(id)), ...idle.filter(isWanted)];
  const hired = new Set(Object.keys(now.roster));
  const { worker_model } = now.agent.created;
  for (const node of candidates(now.board, work, idle)) {
    const barred = barredFrom(node.spec, now.board);
    const wanted = wantedFor(node, barred);
    const worker_id =
      takerOf(wanted, free, barred) ??
      (wanted ? undefined : hire({ run_id: run.id, worker_model }, programs, hired, facts));
    if (worker_id === undefined) continue;
    facts.push({ type: "node.assigned", data: { node_id: node.id, worker_id } });
    facts.push({ type: "worker.busy", data: { worker_id, node_id: node.id } });
    if (--capacity === 0) break;
  }
  return facts;
}

/** A person takes what was given to them by name, and nothing else. */
export function givenToHuman({ agent: { run }, board, roster }: Situation): NewFact[] {
  if (!run || run.finished || !roster[HUMAN]) return [];
  return (waitingWork(board, run.id).reserved.get(HUMAN) ?? []).flatMap((node_id): NewFact[] => [
    { type: "node.assigned", data: { node_id, worker_id: HUMAN } },
    { type: "worker.busy", data: { worker_id: HUMAN, node_id } },
  ]);
}

/** Whether there is anything to hand out at all: mostly there is not, and nothing else need be looked at. */
function isReady({ free, reserved }: WaitingWork): boolean {
  if (free.length > 0) return true;
  for (const ids of reserved.values()) if (ids.length > 0) return true;
  return false;
}

/** Ready nodes that somebody could take now, oldest first; of thousands, only as many are looked at as are taken. */
function* candidates(board: Board, { free, reserved }: WaitingWork, idle: WorkerId[]): Generator<NodeState> {
  const lists = [free, ...idle.flatMap((id) => [reserved.get(id) ?? []])].map((ids) => ({ ids, at: 0 }));
  const headOf = ({ ids, at }: (typeof lists)[number]) => (ids[at] ? board.nodes[ids[at]] : undefined);
  for (;;) {
    let first: (typeof lists)[number] | undefined;
    for (const list of lists) {
      const [head, best] = [headOf(list), first && headOf(first)];
      if (head && (!best || numberOf(head.id) < numberOf(best.id))) first = list;
    }
    const node = first && headOf(first);
    if (!first || !node) return;
    first.at += 1;
    yield node;
  }
}

function takerOf(wanted: WorkerId | null, free: WorkerId[], barred: ReadonlySet<WorkerId>): WorkerId | undefined {
  const at = wanted ? free.indexOf(wanted) : free.findIndex((id) => !barred.has(id));
  return at < 0 ? undefined : free.splice(at, 1)[0];
}

const WAITS_AT_NO_COST = new Set(["human", "news", "children"]);

/** By the nodes that are open, not by the roster alone: a kill may leave somebody busy with a run that has ended. */
function workingNow({ board, roster }: Situation, run: RunId): number {
  return Object.values(roster).filter((worker) => {
    if (worker.id === HUMAN) return false;
    // A worker that was let go counts until its work has ended.
    const work = worker.status === "retired" ? worker.still : "node_id" in worker ? worker : null;
    if (!work || ("for" in work && WAITS_AT_NO_COST.has(work.for))) return false;
    const node = work.node_id === null ? undefined : board.nodes[work.node_id];
    return node?.spec.run_id === run && !hasEnded(node);
  }).length;
}

function hire(
  { run_id, worker_model }: { run_id: RunId; worker_model: string },
  programs: ProgramNames,
  hired: Set<WorkerId>,
  facts: NewFact[],
): WorkerId {
  const name = freeName(hired);
  const worker_id = workerIdOf(name);
  hired.add(worker_id);
  const hiring = hiredAs({ model: worker_model }, programs);
  facts.push({ type: "worker.spawned", data: { run_id, worker_id, name, ...hiring } });
  return worker_id;
}
