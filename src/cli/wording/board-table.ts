import {
  isUnderWay,
  type NodeState,
  type Situation,
  type Stage,
  type Standing,
  shownNodeStatus,
  shownWorkerStatus,
} from "../../projections/index.ts";
import type { NodeId } from "../../protocol/index.ts";
import { outcomeWords, POLICY } from "../../wording/phrases.ts";
import { workWords } from "./branch-words.ts";
import { displayName } from "./names.ts";
import { nodeTree, type TreeRow } from "./node-tree.ts";
import type { Paint } from "./paint.ts";
import { openQuestions } from "./question-text.ts";
import { isTold, stageHeadline } from "./stage-title.ts";
import { type Cell, table } from "./table.ts";
import { cutToWidth, headline } from "./width.ts";

/** Stage by stage; sub-nodes under the node that made them. */
export function boardTable(now: Situation, standing: Standing, columns: number, paint: Paint): string[] {
  const parentOf = (id: NodeId) => now.board.nodes[id]?.spec.parent_node_id ?? null;
  const branches = nodeTree(Object.values(now.board.nodes), parentOf, "bare");
  const withDependencies = branches.some(({ node }) => node.spec.dependencies.length > 0);
  const withWork = now.repository !== undefined && Object.keys(now.repository.nodes).length > 0;
  const more = { withDependencies, withWork };
  const optional = [...(withDependencies ? ["AFTER"] : []), ...(withWork ? ["BRANCH"] : [])];
  const titles = ["NODE", "STATUS", "WORKER", ...optional, "TASK"];
  const rows = branches.map((branch) => rowOf(branch, now, standing, more, paint));
  const [head = "", ...lines] = table([titles.map((text) => ({ text, paint: paint.dim })), ...rows], columns);
  const stages = stagesAt(branches, now);
  return [
    head,
    ...lines.flatMap((line, at) => {
      const stage = stages.get(at);
      return stage ? [paint.bold(stageLine(stage, now)), line] : [line];
    }),
  ];
}

function rowOf(
  { node, stem }: TreeRow,
  now: Situation,
  standing: Standing,
  { withDependencies, withWork }: { withDependencies: boolean; withWork: boolean },
  paint: Paint,
): Cell[] {
  const { roster, repository } = now;
  const question = openQuestions(now).find((each) => each.node_id === node.id);
  const who =
    "worker_id" in node
      ? displayName(roster, node.worker_id)
      : node.reserved_for && displayName(roster, node.reserved_for);
  return [
    { text: `${stem}${node.id}`, paint: paint.bold },
    { text: shownNodeStatus(node, now, standing), paint: question ? paint.yellow : colourOf(node, standing, paint) },
    { text: who || "" },
    ...(withDependencies ? [{ text: node.spec.dependencies.join(", "), paint: paint.dim }] : []),
    ...(withWork && repository ? [{ text: cutToWidth(workWords(node, repository), MOST_OF_WORK) }] : []),
    { text: headline(node.spec.task) + (question ? ` — asks: ${headline(question.text)}` : detailOf(node)) },
  ];
}

/** So that the task is not pushed out. */
const MOST_OF_WORK = 40;

const COLOURS = {
  completed: (paint: Paint) => paint.green,
  failed: (paint: Paint) => paint.red,
  cancelled: (paint: Paint) => paint.dim,
  pending: (paint: Paint) => paint.dim,
};

/** Before which lines a stage begins; none when there is nothing to tell apart. */
function stagesAt(branches: readonly TreeRow[], { stages }: Situation): Map<number, Stage> {
  const found = new Map<number, Stage>();
  if (!stages.some(isTold)) return found;
  let last: Stage | undefined;
  branches.forEach(({ node, stem }, at) => {
    const stage = stages.find((each) => each.run_id === node.spec.run_id && each.number === node.spec.stage);
    if (stem !== "" || !stage || stage === last) return;
    found.set(at, stage);
    last = stage;
  });
  return found;
}

function stageLine(stage: Stage, { agent }: Situation): string {
  const run = agent.runs > 1 ? `${stage.run_id}, ` : "";
  return `${run}${stageHeadline(stage)} — ${stage.status}, ${POLICY[stage.contract.checkpoint_policy]}`;
}

function detailOf(node: NodeState): string {
  switch (node.status) {
    case "completed":
      return ` — ${headline(node.summary)}`;
    case "failed":
      return ` — ${headline(outcomeWords(node.outcome))}`;
    case "cancelled":
      return ` — ${headline(node.reason)}`;
    default:
      return "";
  }
}

function colourOf(node: NodeState, standing: Standing, paint: Paint): (text: string) => string {
  if (!isUnderWay(node)) return COLOURS[node.status](paint);
  return shownWorkerStatus("", standing) === "" ? paint.blue : paint.yellow;
}
