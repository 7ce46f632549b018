import { diffOfFile, type FileDiff, linesOfFile, type RepositoryView } from "../live/repository-api.ts";
import { nodesInOrder } from "./branch-state.ts";
import { linesOf } from "./diff-lines.ts";
import type { LineAddress } from "./diff-rows.ts";

/** Nodes whose work can be spoken about: it has been published once. The latest first. */
export function reviewable(repository: RepositoryView): string[] {
  return nodesInOrder(repository)
    .filter(([, { commit }]) => commit !== undefined)
    .map(([id]) => id)
    .reverse();
}

/** The search for the author goes back no further than this. */
const MOST = 30;

/**
 * The node whose line it is: the latest that put it there, or took it out; else the latest that changed the file; else
 * the latest of all.
 */
export async function authorOf(
  agent: string,
  repository: RepositoryView,
  at: LineAddress,
  quote: string,
): Promise<string | null> {
  const nodes = reviewable(repository);
  const onBranch = nodes.filter((id) => repository.nodes[id]?.state === "merged").slice(0, MOST);
  let changed: string | null = null;
  for (const id of onBranch) {
    const file = await diffOfFile(agent, { node_id: id }, at.path).catch(() => undefined);
    if (!file) continue;
    if (changesLine(file, at, quote)) return id;
    changed ??= id;
  }
  return changed ?? nodes[0] ?? null;
}

export function changesLine(file: FileDiff, { side }: LineAddress, quote: string): boolean {
  const sign = side === "old" ? "-" : "+";
  return file.hunks.some((hunk) => linesOf(hunk).some((line) => line.sign === sign && line.text === quote));
}

/** Lines around it that are looked at; the server gives a thousand. */
const AROUND = 499;

/**
 * The line of the whole branch as the work of a node has it: there it may have another number. The same number if it
 * cannot be found.
 */
export async function lineIn(
  agent: string,
  repository: RepositoryView,
  node: string,
  at: LineAddress,
  quote: string,
): Promise<number> {
  const { merged, parent } = repository.nodes[node] ?? {};
  const commit = at.side === "old" ? parent : merged;
  if (commit === undefined) return at.line;
  const [from, to] = [Math.max(1, at.line - AROUND), at.line + AROUND];
  const found = await linesOfFile(agent, commit, at.path, from, to).catch(() => undefined);
  return found ? nearestAlike(found.lines, found.from_line, at.line, quote) : at.line;
}

/** The number of the line with this text, the nearest if there are several. */
export function nearestAlike(lines: readonly string[], from: number, wanted: number, quote: string): number {
  const alike = lines.flatMap((line, index) => (line === quote ? [from + index] : []));
  return alike.sort((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted))[0] ?? wanted;
}
