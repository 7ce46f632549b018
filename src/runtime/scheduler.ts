import { idleWorkers, readyNodes, type Situation, type WorkerState } from "../projections/index.ts";
import { COORDINATOR, type NewFact } from "../protocol/index.ts";

/** Names for workers nobody named, in the order they are hired. */
const NAMES = [
  ..."Alice Bob Carol David Erin Frank Grace Henry Iris Jack Kate Leo Mona Nina Oscar Paula Quinn Rosa Sam Tara".split(
    " ",
  ),
  ..."Uma Victor Wendy Xenia Yusuf Zoe Amir Bea Chen Dora Emil Fay Gus Hana Ivan Judy Karl Lena Milo Nora".split(" "),
];

/**
 * Who takes what now: each ready node, oldest first, meets an idle worker or a new one, up to the limit. Pure, so that
 * the same situation always gives the same answer.
 */
export function assignments(now: Situation, { maxConcurrent }: { maxConcurrent: number }): NewFact[] {
  const run = now.agent.run;
  if (!run || run.finished) return [];
  const team = Object.values(now.roster).filter((worker) => worker.id !== COORDINATOR);
  const free = idleWorkers(now.roster).filter(
    (worker) => worker.id !== COORDINATOR && worker.spawned.run_id === run.id,
  );
  let capacity =
    maxConcurrent - team.filter((worker) => worker.status === "busy" || worker.status === "waiting").length;
  const facts: NewFact[] = [];
  const taken = new Set(team.map((worker) => worker.id));
  for (const node of readyNodes(now.board)) {
    if (capacity-- <= 0) break;
    const worker_id = free.shift()?.id ?? hire(now, taken, facts);
    facts.push({ type: "node.assigned", data: { node_id: node.id, worker_id } });
    facts.push({ type: "worker.busy", data: { worker_id, node_id: node.id } });
  }
  return facts;
}

function hire(now: Situation, taken: Set<WorkerState["id"]>, facts: NewFact[]): string {
  const name = NAMES.find((candidate) => !taken.has(candidate.toLowerCase())) ?? `Worker ${taken.size + 1}`;
  const worker_id = name.toLowerCase().replaceAll(" ", "-");
  taken.add(worker_id);
  const { worker_model } = now.agent.created;
  const run_id = now.agent.run?.id;
  if (!run_id) throw new Error("Nobody is hired outside a run.");
  facts.push({ type: "worker.spawned", data: { run_id, worker_id, name, kind: "harnessed", model: worker_model } });
  return worker_id;
}
