import type { RepositoryNode, RepositoryView } from "../live/repository-api.ts";

export type WorkState = "working" | "merged" | "red" | "conflict" | "reverted";

/** How the work of a node stands: what was refused is told apart by why. */
export function workState(node: RepositoryNode): WorkState {
  if (node.state !== "refused") return node.state;
  return node.refusals.at(-1)?.why === "conflict" ? "conflict" : "red";
}

export const WORK_WORDS: Record<WorkState, string> = {
  working: "in progress",
  merged: "on the branch",
  red: "checks fail",
  conflict: "conflicts",
  reverted: "taken out",
};

export interface BranchState {
  /** Of what is on the branch: nothing yet, every check passed, some fail, or none were run. */
  health: "empty" | "green" | "red" | "unchecked";
  conflicts: number;
  /** Whose checks fail, so that it waits. */
  waiting: number;
  delivery: "none" | "behind" | "done";
}

export function branchState(view: RepositoryView): BranchState {
  const nodes = Object.values(view.nodes);
  const states = nodes.map(workState);
  return {
    health: healthOf(view, nodes),
    conflicts: states.filter((state) => state === "conflict").length,
    waiting: states.filter((state) => state === "red").length,
    delivery: deliveryOf(view),
  };
}

/** A check ran on the merge commit of its node; each later merge checked the whole branch again. */
function healthOf(view: RepositoryView, nodes: readonly RepositoryNode[]): BranchState["health"] {
  if (view.tip === view.base) return "empty";
  const merged = nodes.filter(({ state }) => state === "merged");
  const last = merged.find((node) => node.merged === view.tip);
  const checks = (last ? [last] : merged).flatMap((node) => node.checks.filter(({ commit }) => commit === node.merged));
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
