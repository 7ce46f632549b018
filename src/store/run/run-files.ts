import { join } from "node:path";
import { type Board, describeBoard, goalOf, type Situation, stageTitle, waitingWork } from "../../projections/index.ts";
import { own } from "../../protocol/dict.ts";
import type { GivenInput, Outcome, RunId, WorkerId } from "../../protocol/index.ts";
import { replaceFile } from "../disk/atomic-file.ts";
import { rewrite } from "./node-folder.ts";
import { isDerived, markedAsDerived, OUTPUT_FILE, type RunFile, type RunFiles } from "./results.ts";

const PLAN = "_plan.md";
/** Where the board goes when the plan is the coordinator's own. */
const BOARD = "_board.md";

/** The goal and the board, for everyone in the run: `_plan.md`, until the coordinator writes a plan of its own. */
export function writePlan(dir: string, now: Situation): void {
  const goal = goalOf(now.agent);
  const board = describeBoard(now.board, now.agent.run?.id);
  const isOurs = isDerived(join(dir, PLAN));
  const text = `# ${isOurs ? "Plan" : "Board"}\n\nGoal: ${goal}\n\n${board}\n${assessments(now)}`;
  replaceFile(join(dir, isOurs ? PLAN : BOARD), isOurs ? markedAsDerived(text) : text);
}

/** What the coordinator said of each stage when it ended it. */
function assessments({ stages, agent }: Situation): string {
  const lines = stages.flatMap((stage) =>
    stage.run_id === agent.run?.id && stage.assessment !== null
      ? `- ${stageTitle(stage)}: ${stage.assessment.replace(/\s+/g, " ").trim()}`
      : [],
  );
  return lines.length > 0 ? `\n## Stages that have ended\n\n${lines.join("\n")}\n` : "";
}

/** `_output.md`: how the run ended, and where its results are; what the coordinator wrote there itself stays. */
export function writeOutput(dir: string, run: { goal: string }, outcome: Outcome, { results, others }: RunFiles): void {
  if (!isDerived(join(dir, OUTPUT_FILE))) return;
  const words = outcome.kind === "finished" ? outcome.summary : "error" in outcome ? outcome.error : outcome.kind;
  const isPublished = ({ path }: RunFile) => path.startsWith("nodes/");
  const named = results.filter((file) => !isPublished(file) && file.path !== OUTPUT_FILE);
  const published = [...results, ...others].filter(isPublished);
  const text = `# Output\n\nGoal: ${run.goal}\n\nOutcome: ${outcome.kind}\n\n${words}\n${listed("Results", named)}${listed("Published files", published)}`;
  replaceFile(join(dir, OUTPUT_FILE), markedAsDerived(text));
}

function listed(title: string, files: readonly RunFile[]): string {
  return files.length > 0 ? `\n## ${title}\n\n${files.map(({ path }) => `- ${path}`).join("\n")}\n` : "";
}

/** `_refs.json`: where each ref points, where a copy came from, and the hash it had when the node began. */
export function writeRefs(
  nodeDir: string,
  refs: Readonly<Record<string, string>>,
  pins: Readonly<Record<string, string>>,
  inputs: readonly GivenInput[] = [],
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
