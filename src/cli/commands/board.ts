import type { NodeState } from "../../projections/index.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { outcomeWords } from "../fact-line.ts";
import type { Invocation } from "../invocation.ts";
import { lookAtAgent } from "../look.ts";
import type { Paint } from "../paint.ts";
import { type Cell, table } from "../table.ts";
import { headline } from "../width.ts";

export async function board(call: Invocation, word: string): Promise<ExitCode> {
  const { terminal, json } = call;
  const { now } = await lookAtAgent(call, word);
  const nodes = Object.values(now.board.nodes);
  if (json) for (const node of nodes) await terminal.printJson(node);
  else if (nodes.length === 0) terminal.say("The board is empty.");
  else await terminal.printLines(boardTable(nodes, terminal.columns, terminal.paint));
  return EXIT.done;
}

export function boardTable(nodes: readonly NodeState[], columns: number, paint: Paint): string[] {
  const colours = {
    completed: paint.green,
    failed: paint.red,
    pending: paint.dim,
    assigned: paint.blue,
    running: paint.blue,
    publishing: paint.blue,
  };
  const rows = nodes.map((node): Cell[] => [
    { text: node.id, paint: paint.bold },
    { text: node.status, paint: colours[node.status] },
    { text: "worker_id" in node ? node.worker_id : "" },
    { text: headline(node.spec.task) + detailOf(node) },
  ]);
  return table([["NODE", "STATUS", "WORKER", "TASK"].map((text) => ({ text, paint: paint.dim })), ...rows], columns);
}

function detailOf(node: NodeState): string {
  switch (node.status) {
    case "completed":
      return ` — ${headline(node.summary)}`;
    case "failed":
      return ` — ${headline(outcomeWords(node.outcome))}`;
    case "pending":
      return node.spec.dependencies.length > 0 ? ` (after ${node.spec.dependencies.join(", ")})` : "";
    default:
      return "";
  }
}
