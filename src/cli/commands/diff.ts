import { nodeNamed, type Situation } from "../../projections/index.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { lookAtRepository } from "../home/look-repository.ts";
import { commandLine, type Invocation } from "../invocation.ts";
import { patchLines, statLines } from "../wording/diff-lines.ts";
import { unknownName } from "../wording/fact-filter.ts";
import { count } from "../wording/format.ts";

export interface DiffCommandOptions {
  stat?: boolean;
  patch?: boolean;
}

/** More changed lines than this are listed by file, unless the patch is asked for. */
const MOST_LINES = 2000;

/** What the whole branch changes, or one node. Without a pager: as it comes, in colours at a terminal. */
export async function diff(
  call: Invocation,
  agent: string,
  node: string | undefined,
  { stat = false, patch = false }: DiffCommandOptions,
): Promise<ExitCode> {
  const { terminal, json } = call;
  if (stat && patch) throw new UsageError("--stat lists the files, --patch prints the lines. Choose one.");
  const { now, reader } = await lookAtRepository(call, agent);
  if (node !== undefined && !nodeNamed(now.board, node))
    throw new UsageError(unknownName("node", node, Object.keys(now.board.nodes)));
  const found = await reader.diff({ node_id: node, context: 3 });
  if (json) {
    await terminal.printJson(found);
    return EXIT.done;
  }
  if (found.files_total === 0) {
    terminal.say(nothingYet(now, node));
    return EXIT.done;
  }
  const isLarge = found.more || found.insertions + found.deletions > MOST_LINES;
  if (stat || (isLarge && !patch)) {
    await terminal.printLines(statLines(found, terminal.lineColumns, terminal.paint));
    if (!stat) terminal.say(largeWords(call, now, node));
    return EXIT.done;
  }
  const whole = await reader.patch(node);
  // To a file or a program go the very bytes: `git apply` must be able to read them.
  if (terminal.stdout.isTTY !== true && !terminal.paint.isColorSupported) await terminal.print(whole);
  else await terminal.printLines(patchLines(whole.toString("utf8"), terminal.paint));
  return EXIT.done;
}

function nothingYet({ agent, repository }: Situation, node: string | undefined): string {
  if (node === undefined) return `${agent.created.name} has changed nothing yet.`;
  const state = repository?.nodes[node as keyof typeof repository.nodes]?.state;
  return state === undefined
    ? `${node} has not changed the repository.`
    : `${node} has not published a change yet. Its work can be seen here once it publishes.`;
}

function largeWords(call: Invocation, { agent, repository }: Situation, node: string | undefined): string {
  const words = node === undefined ? [agent.id] : [agent.id, node];
  const merged = Object.keys(repository?.nodes ?? {}).length;
  const byNode = node === undefined && merged > 1 ? `, or one of ${count(merged, "node")} at a time` : "";
  return `This is large, so only its files are listed. All of it: ${commandLine(call, "diff", ...words, "--patch")}${byNode}`;
}
