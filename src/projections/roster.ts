import { COORDINATOR, type Fact, type FactOf, type NodeId, type RunId, type WorkerId } from "../protocol/index.ts";

interface WorkerBase {
  id: WorkerId;
  spawned: FactOf<"worker.spawned">["data"];
}

type AtWork =
  | { status: "busy"; node_id: NodeId | null }
  | { status: "waiting"; node_id: NodeId | null; for: FactOf<"worker.waiting">["data"]["for"] };

export type WorkerState = WorkerBase &
  (
    | { status: "idle" }
    | AtWork
    | { status: "stopped" }
    /** With the work that was under way when they were let go, until it ends. */
    | { status: "retired"; still: AtWork | null }
  );

/** The workers by id, the coordinator first. */
export type Roster = Record<WorkerId, WorkerState>;

export function applyToRoster(roster: Roster, fact: Fact): void {
  if (fact.type === "worker.spawned") {
    roster[fact.data.worker_id] = { id: fact.data.worker_id, spawned: fact.data, status: "idle" };
    return;
  }
  if (fact.type === "model.set") {
    for (const worker of Object.values(roster)) worker.spawned = rethought(worker.spawned, fact.data);
    return;
  }
  if (!fact.type.startsWith("worker.") || !("worker_id" in fact.data)) return;
  const worker = roster[fact.data.worker_id];
  if (!worker) return;
  if (worker.status === "retired") {
    // A worker that was let go while at work finishes that work, and stays gone.
    const { node_id } = { node_id: null, ...fact.data };
    if (fact.type === "worker.busy") worker.still = { status: "busy", node_id };
    if (fact.type === "worker.waiting") worker.still = { status: "waiting", node_id, for: fact.data.for };
    if (fact.type === "worker.idle" || fact.type === "worker.stopped") worker.still = null;
    return;
  }
  const { id, spawned } = worker;
  switch (fact.type) {
    case "worker.idle":
      roster[id] = { id, spawned, status: "idle" };
      return;
    case "worker.busy":
      roster[id] = { id, spawned, status: "busy", node_id: fact.data.node_id };
      return;
    case "worker.waiting":
      roster[id] = { id, spawned, status: "waiting", node_id: fact.data.node_id, for: fact.data.for };
      return;
    case "worker.briefed": {
      const { identity, model = spawned.model, tools = spawned.tools } = fact.data;
      worker.spawned = { ...spawned, identity, model, ...(tools && { tools }) };
      return;
    }
    case "worker.retired":
      roster[id] = { id, spawned, status: "retired", still: "node_id" in worker ? worker : null };
      return;
    case "worker.stopped":
      roster[id] = { id, spawned, status: "stopped" };
      return;
  }
}

/** A worker with a model of its own keeps it, and so does a program. */
function rethought(spawned: WorkerState["spawned"], { model, worker_model, was }: FactOf<"model.set">["data"]) {
  if (spawned.kind !== "harnessed") return spawned;
  if (spawned.worker_id === COORDINATOR) return { ...spawned, model };
  return spawned.model === was.worker_model ? { ...spawned, model: worker_model } : spawned;
}

export function idleWorkers(roster: Roster): WorkerState[] {
  return Object.values(roster).filter((worker) => worker.status === "idle");
}

/** The workers of a run: the coordinator is in every run, the others are hired for one. */
export function rosterOf(roster: Roster, run: RunId): Roster {
  const isIn = (worker: WorkerState) => worker.id === COORDINATOR || worker.spawned.run_id === run;
  return Object.fromEntries(Object.entries(roster).filter(([, worker]) => isIn(worker)));
}

/** The team in words. If there are too many, those at work come before those who are free or gone. */
export function describeRoster(roster: Roster, most: number): string {
  const workers = Object.values(roster);
  const shown = workers.length > most ? workers.toSorted((a, b) => rankOf(a) - rankOf(b)).slice(0, most) : workers;
  const more = workers.length - shown.length;
  return [
    ...shown.map(lineFor),
    ...(more > 0 ? [`… ${more} more, who are not at work or were hired later.`] : []),
  ].join("\n");
}

function rankOf({ status }: WorkerState): number {
  return status === "busy" || status === "waiting" ? 0 : status === "retired" ? 2 : 1;
}

function lineFor(worker: WorkerState): string {
  const on = "node_id" in worker && worker.node_id ? ` on ${worker.node_id}` : "";
  const what = worker.status === "waiting" ? `waiting for ${worker.for.replace("_", " ")}` : worker.status;
  return `- ${worker.spawned.name}: ${what}${on} (${worker.spawned.model})`;
}
