import type { Fact, NodeId, RunId, StageContract } from "../protocol/index.ts";
import { familyOf, mayNeverBegin } from "./lineage.ts";
import { type Board, hasEnded, type NodeState } from "./node-state.ts";
import { waitingWork } from "./waiting-work.ts";

/** A group of nodes with a contract. */
export interface Stage {
  run_id: RunId;
  /** Counted from 1 within the run. */
  number: number;
  name: string;
  contract: StageContract;
  nodes: NodeId[];
  status: "running" | "reconvening" | "completed";
  assessment: string | null;
  started_seq: number;
  /** Open when enough of the others were completed (`any`, `majority`): the runtime cancels them. With the fact that did it. */
  losers?: { id: NodeId; seq: number }[];
}

export function applyToStages(stages: Stage[], fact: Fact): void {
  switch (fact.type) {
    case "stage.started": {
      const { run_id, stage, name, contract } = fact.data;
      const rest = { nodes: [], assessment: null, started_seq: fact.seq };
      const begun: Stage = { run_id, number: stage, name, contract, status: "running", ...rest };
      // Announced before, and only now filled: under this name and contract.
      const at = stages.findIndex((each) => each.run_id === run_id && each.number === stage && each.nodes.length === 0);
      if (at < 0) stages.push(begun);
      else stages[at] = begun;
      return;
    }
    case "stage.reconvened":
    case "stage.completed": {
      const stage = stages.find((each) => each.run_id === fact.data.run_id && each.number === fact.data.stage);
      if (!stage) return;
      stage.status = fact.type === "stage.completed" ? "completed" : "reconvening";
      if (fact.type === "stage.reconvened") stage.assessment = fact.data.assessment;
      return;
    }
    case "node.created":
      stages
        .find((each) => each.run_id === fact.data.run_id && each.number === fact.data.stage)
        ?.nodes.push(fact.data.node_id);
      return;
  }
}

/** The current stage of a run. */
export function currentStage(stages: readonly Stage[], run: RunId): Stage | undefined {
  return stages.findLast((stage) => stage.run_id === run && stage.status === "running");
}

/**
 * Whether a stage is done according to its contract: everything has ended, or enough of what the coordinator itself
 * handed out is completed. Cancelled nodes do not count.
 */
export function isStageDone(stage: Stage, board: Board): boolean {
  const open = waitingWork(board, stage.run_id).openInStage.get(stage.number) ?? 0;
  if (stage.nodes.length > 0 && open === 0) return true;
  const { checkpoint_policy } = stage.contract;
  if (checkpoint_policy === "all_must_complete") return false;
  const nodes = topOf(stage, board).filter(({ status }) => status !== "cancelled");
  const completed = nodes.filter(({ status }) => status === "completed").length;
  return checkpoint_policy === "any" ? completed > 0 : completed * 2 > nodes.length;
}

/**
 * Applied after board and stages. The losers are decided with the fact that met the contract: later work is not among
 * them.
 */
export function noteLosers(stages: Stage[], board: Board, fact: Fact): void {
  if (fact.type === "node.reopened") {
    for (const stage of stages)
      if (stage.losers) stage.losers = stage.losers.filter(({ id }) => id !== fact.data.node_id);
    return;
  }
  const node = fact.type === "node.completed" ? board.nodes[fact.data.node_id] : undefined;
  if (!node || node.spec.parent_node_id !== null) return;
  const stage = stages.findLast((each) => each.run_id === node.spec.run_id && each.number === node.spec.stage);
  // One that was closed meanwhile leaves it to the coordinator what goes on.
  if (stage?.status !== "running" || stage.contract.checkpoint_policy === "all_must_complete") return;
  if (!isStageDone(stage, board)) return;
  const isCompleted = (id: NodeId) => board.nodes[id]?.status === "completed";
  // What builds on a result goes on, and what is held has not begun to compete.
  const hasLost = (each: NodeState) =>
    !hasEnded(each) && !mayNeverBegin(each, board) && !each.spec.dependencies.some(isCompleted);
  const known = stage.losers ?? [];
  const isNew = ({ id }: NodeState) => !known.some((each) => each.id === id);
  const lost = topOf(stage, board).filter((each) => isNew(each) && hasLost(each));
  stage.losers = [...known, ...lost.map(({ id }) => ({ id, seq: fact.seq }))];
}

/** What is still to be cancelled because its stage is done without it, with everything below it. */
export function losersIn(stages: readonly Stage[], board: Board, run: RunId): NodeId[] {
  return stages
    .filter((stage) => stage.run_id === run)
    .flatMap(({ losers = [] }) => losers.flatMap(({ id }) => board.nodes[id] ?? []))
    .filter(({ status }) => status !== "completed")
    .flatMap((node) => familyOf(node, board).filter((each) => !hasEnded(each)))
    .map(({ id }) => id);
}

function topOf({ nodes }: Stage, board: Board): NodeState[] {
  return nodes.flatMap((id) => board.nodes[id] ?? []).filter(({ spec }) => spec.parent_node_id === null);
}

/** A stage without a name is called by its number. */
export function stageTitle({ number, name }: Pick<Stage, "number" | "name">): string {
  const usual = `Stage ${number}`;
  return name === usual ? usual : `${usual} (${name})`;
}
