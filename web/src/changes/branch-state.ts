import { hasEnded, type Situation } from "../../../src/projections/index.ts";
import type { RepositoryNode, RepositoryView } from "../live/repository-api.ts";

export type WorkState = "working" | "merged" | "red" | "conflict" | "reverted" | "unchanged" | "ended";

/** How the work of a node stands: what was refused is told apart by why, and nobody is at work where the node has ended. */
export function workState(
  { board }: Pick<Situation, "board">,
  id: string,
  work: { state: RepositoryNode["state"]; refusals: readonly { why: "conflict" | "checks" }[] },
): WorkState {
  if (work.state === "merged" || work.state === "reverted") return work.state;
  const node = Object.values(board.nodes).find((each) => each.id === id);
  if (hasEnded(node)) return node.status === "completed" ? "unchanged" : "ended";
  if (work.state === "working") return "working";
  return work.refusals.at(-1)?.why === "conflict" ? "conflict" : "red";
}

export const WORK_WORDS: Record<WorkState, string> = {
  working: "in progress",
  merged: "on the branch",
  red: "checks fail",
  conflict: "conflicts",
  reverted: "taken out",
  unchanged: "no changes",
  ended: "not published",
};

export interface BranchState {
  /** Of what is on the branch: nothing yet, every check passed, some fail, or none were run. */
  health: "empty" | "green" | "red" | "unchecked";
  conflicts: number;
  /** Whose checks fail, so that it waits. */
  waiting: number;
  delivery: "none" | "behind" | "done";
}

export function branchState(situation: Pick<Situation, "board">, view: RepositoryView): BranchState {
  const states = Object.entries(view.nodes).map(([id, node]) => workState(situation, id, node));
  return {
    health: healthOf(view),
    conflicts: states.filter((state) => state === "conflict").length,
    waiting: states.filter((state) => state === "red").length,
    delivery: deliveryOf(view),
  };
}

/** Whatever the branch moves to was checked as it is there. */
function healthOf({ tip, base, checks }: RepositoryView): BranchState["health"] {
  if (tip === base) return "empty";
  if (checks.length === 0) return "unchecked";
  return checks.every(({ ok }) => ok) ? "green" : "red";
}

function deliveryOf({ delivered, tip }: RepositoryView): BranchState["delivery"] {
  if (delivered.length === 0) return "none";
  return delivered.some(({ commit }) => commit === tip) ? "done" : "behind";
}

/** By their number. */
export function nodesInOrder(view: RepositoryView): [string, RepositoryNode][] {
  const number = (id: string) => Number(/\d+$/.exec(id)?.[0] ?? 0);
  return Object.entries(view.nodes).sort(([a], [b]) => number(a) - number(b));
}
