import type { Fact, NodeId, RunId, StageContract } from "../protocol/index.ts";
import type { Board } from "./board.ts";
import { waitingWork } from "./waiting-work.ts";

/** Nodes that belong together, under a contract. */
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
}

export function applyToStages(stages: Stage[], fact: Fact): void {
  switch (fact.type) {
    case "stage.started": {
      const { run_id, stage, name, contract } = fact.data;
      const rest = { nodes: [], assessment: null, started_seq: fact.seq };
      stages.push({ run_id, number: stage, name, contract, status: "running", ...rest });
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

/** The stage that is under way in a run. */
export function currentStage(stages: readonly Stage[], run: RunId): Stage | undefined {
  return stages.findLast((stage) => stage.run_id === run && stage.status === "running");
}

/** Whether its contract calls a stage done: by the nodes that have ended. */
export function isStageDone(stage: Stage, board: Board): boolean {
  const ended = stage.nodes.length - (waitingWork(board, stage.run_id).openInStage.get(stage.number) ?? 0);
  if (ended === 0) return false;
  switch (stage.contract.checkpoint_policy) {
    case "all_must_complete":
      return ended === stage.nodes.length;
    case "majority":
      return ended * 2 > stage.nodes.length;
    case "any":
      return true;
  }
}
