import { join } from "node:path";
import { type Board, describeBoard, type Situation, waitingWork } from "../projections/index.ts";
import { own } from "../protocol/dict.ts";
import type { HandedInput, Outcome, RunId, WorkerId } from "../protocol/index.ts";
import { replaceFile } from "./atomic-file.ts";
import { rewrite } from "./node-folder.ts";

/** `_plan.md`: the goal and the board, for everyone in the run. Rewritten whenever the plan changes. */
export function writePlan(dir: string, now: Situation): void {
  const goal = now.agent.run?.goal ?? now.agent.created.goal;
  const board = describeBoard(now.board, now.agent.run?.id);
  replaceFile(join(dir, "_plan.md"), `# Plan\n\nGoal: ${goal}\n\n${board}\n`);
}

/** `GOAL.md`: what the agent is at now. */
export function writeGoal(agentDir: string, goal: string): void {
  replaceFile(join(agentDir, "GOAL.md"), `${goal.trim()}\n`);
}

/** `_output.md`: how the run ended, and where its results are. */
export function writeOutput(dir: string, run: { id: RunId; goal: string }, outcome: Outcome, board: Board): void {
  const words = outcome.kind === "finished" ? outcome.summary : "error" in outcome ? outcome.error : outcome.kind;
  const files = Object.values(board.nodes).flatMap((node) =>
    node.status === "completed" && node.spec.run_id === run.id
      ? node.files.map((file) => `- nodes/${node.id}/published/${file.path}`)
      : [],
  );
  const list = files.length > 0 ? `\n## Published files\n\n${files.join("\n")}\n` : "";
  replaceFile(
    join(dir, "_output.md"),
    `# Output\n\nGoal: ${run.goal}\n\nOutcome: ${outcome.kind}\n\n${words}\n${list}`,
  );
}

/** `_refs.json`: where each ref points, where a copy came from, and the hash it had when the node began. */
export function writeRefs(
  nodeDir: string,
  refs: Readonly<Record<string, string>>,
  pins: Readonly<Record<string, string>>,
  inputs: readonly HandedInput[] = [],
): void {
  if (Object.keys(refs).length === 0) return; // the folder was made with just that
  const pinned = Object.entries(refs).map(([name, target]) => {
    const path = `nodes/${target.replace(/^nodes\//, "")}`;
    const from = inputs.find((input) => input.name === name)?.from;
    return [name, { path, sha256: own(pins, name) ?? null, ...(from !== undefined && { from }) }];
  });
  replaceFile(join(nodeDir, "_refs.json"), `${JSON.stringify(Object.fromEntries(pinned), null, 2)}\n`);
}

/** `history.json`: the nodes a worker has completed in this run, in that order. */
export function writeHistory(workerDir: string, board: Board, run: RunId, worker: WorkerId): Promise<void> {
  const done = (waitingWork(board, run).completedBy.get(worker) ?? []).flatMap((id) => {
    const node = board.nodes[id];
    return node?.status === "completed" ? [{ node_id: id, task: node.spec.task, summary: node.summary }] : [];
  });
  return rewrite(workerDir, "history.json", `${JSON.stringify(done, null, 2)}\n`);
}
