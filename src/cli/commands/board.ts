import { EXIT, type ExitCode } from "../exit-code.ts";
import { lookAtAgent } from "../home/look.ts";
import type { Invocation } from "../invocation.ts";
import { boardTable } from "../wording/board-table.ts";
import { standingOf } from "../wording/standing.ts";

export async function board(call: Invocation, word: string): Promise<ExitCode> {
  const { terminal, json } = call;
  const { now, holder } = await lookAtAgent(call, word);
  const nodes = Object.values(now.board.nodes);
  if (json) for (const node of nodes) await terminal.printJson(node);
  else if (nodes.length === 0) terminal.say("The board is empty.");
  else await terminal.printLines(boardTable(now, standingOf(now, holder), terminal.lineColumns, terminal.paint));
  return EXIT.done;
}
