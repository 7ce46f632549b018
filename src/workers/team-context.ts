import { isOpenedForNode, type NodeState, rosterOf, type Situation, type WorkerState } from "../projections/index.ts";
import { COORDINATOR, type RunId } from "../protocol/index.ts";

/**
 * What a worker knows of its team before its first turn (seed 000 §2.2, TEAM CONTEXT). Written once, into a prompt that
 * must not change from turn to turn: workers who join later are not in it.
 */
export function teamWords(node: NodeState, worker: Pick<WorkerState, "id">, now: Situation): string {
  const { run_id, stage: number, created_by } = node.spec;
  const stage = now.stages.find((each) => each.run_id === run_id && each.number === number);
  const colleagues = Object.values(rosterOf(now.roster, run_id)).filter(
    ({ id, status }) => id !== worker.id && id !== COORDINATOR && status !== "retired",
  );
  const atWork = colleagues.filter((each) => "node_id" in each);
  const shown = [...atWork, ...colleagues.filter((each) => !("node_id" in each))].slice(0, MOST_COLLEAGUES);
  const more = colleagues.length - shown.length;
  return [
    "# Your team",
    "",
    `The goal of the run: ${cut(goalOf(run_id, now), LONGEST_GOAL)}`,
    ...(stage ? [`The stage: ${stage.name === `Stage ${number}` ? number : `${number}, ${stage.name}`}`] : []),
    "Colleagues, by name:",
    `- coordinator${created_by === COORDINATOR ? ", who gave you this" : ""}`,
    ...shown.map((each) => `- ${colleague(each, created_by, now)}`),
    ...(more > 0 ? [`- and ${more} more`] : []),
  ].join("\n");
}

/** For a model that can speak to nobody: what its work is for. */
export function goalWords({ spec }: NodeState, now: Situation): string {
  return `It is a part of this goal: ${cut(goalOf(spec.run_id, now), LONGEST_GOAL)}`;
}

const MOST_COLLEAGUES = 20;
const LONGEST_GOAL = 600;
const LONGEST_IDENTITY = 80;
const LONGEST_TASK = 100;

function colleague(worker: WorkerState, created_by: string, { board }: Situation): string {
  const { name, identity = "" } = worker.spawned;
  const who = cut(firstLine(identity).replace(/\.$/, ""), LONGEST_IDENTITY);
  const node = "node_id" in worker && worker.node_id ? board.nodes[worker.node_id] : undefined;
  const gave = worker.id === created_by ? ", who gave you this" : "";
  const work = node ? `${node.id}, ${cut(firstLine(node.spec.task), LONGEST_TASK)}` : "free";
  return `${name}${who ? ` (${who})` : ""}${gave}: ${work}`;
}

function goalOf(run: RunId, { agent }: Situation): string {
  // Its words are for the coordinator: they are about this very node.
  if (agent.run?.id === run && isOpenedForNode(agent.run)) return agent.goal;
  return (agent.run?.id === run ? agent.run.goal : agent.goals[run]) ?? agent.goal;
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? "";
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text;
}
