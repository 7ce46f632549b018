import { type Board, type NodeState, nodeNamed, type Roster } from "../../projections/index.ts";
import { HUMAN, type NodeId, type WorkerId } from "../../protocol/index.ts";

/** Workers that must not get a node: those that are named, and those that work, or worked, on nodes that are named. */
export function barredFrom({ not_by }: Pick<NodeState["spec"], "not_by">, board: Board): ReadonlySet<WorkerId> {
  if (!not_by) return NOBODY;
  return new Set(
    not_by.flatMap((word) => {
      const node = nodeNamed(board, word);
      return node ? node.authors : [word];
    }),
  );
}

const NOBODY: ReadonlySet<WorkerId> = new Set();

/**
 * The worker it is reserved for, unless that one is barred. A person's decision, and work that is already theirs,
 * override the bar.
 */
export function wantedFor(node: NodeState, barred: ReadonlySet<WorkerId>): WorkerId | null {
  const { reserved_for, reserved_by } = node;
  if (reserved_for === null || reserved_for === HUMAN || reserved_by === HUMAN) return reserved_for;
  return barred.has(reserved_for) ? null : reserved_for;
}

/** Why a named worker must not get it, in words. */
export function whyBarred(
  { not_by }: Pick<NodeState["spec"], "not_by">,
  worker: WorkerId,
  { board, roster }: { board: Board; roster: Roster },
): string | undefined {
  const because = not_by?.find((word) => barredFrom({ not_by: [word] }, board).has(worker));
  if (because === undefined) return undefined;
  const name = roster[worker]?.spawned.name ?? worker;
  const what = Object.hasOwn(board.nodes, because) ? `${name} worked on ${because as NodeId}` : `${name} is in not_by`;
  return `${what}, so it is to be done by somebody else. Name another worker, or nobody.`;
}
