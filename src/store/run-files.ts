import { join } from "node:path";
import { type Board, describeBoard, type Situation } from "../projections/index.ts";
import type { Outcome } from "../protocol/index.ts";
import { writeFileAtomic } from "./atomic-file.ts";

/** `_plan.md`: the goal and the board, for everyone in the run. Rewritten whenever the plan changes. */
export async function writePlan(runDir: string, now: Situation): Promise<void> {
  const goal = now.agent.run?.goal ?? now.agent.created.goal;
  await writeFileAtomic(join(runDir, "_plan.md"), `# Plan\n\nGoal: ${goal}\n\n${describeBoard(now.board)}\n`);
}

/** `_output.md`: how the run ended, and where its results are. */
export async function writeOutput(runDir: string, goal: string, outcome: Outcome, board: Board): Promise<void> {
  const words =
    outcome.kind === "finished" ? outcome.summary : outcome.kind === "failed" ? outcome.error : outcome.kind;
  const files = Object.values(board.nodes).flatMap((node) =>
    node.status === "completed" ? node.files.map((file) => `- nodes/${node.id}/published/${file.path}`) : [],
  );
  const list = files.length > 0 ? `\n## Published files\n\n${files.join("\n")}\n` : "";
  await writeFileAtomic(
    join(runDir, "_output.md"),
    `# Output\n\nGoal: ${goal}\n\nOutcome: ${outcome.kind}\n\n${words}\n${list}`,
  );
}
