import { expect, test } from "vitest";
import type { RepositoryNode, RepositoryView } from "../live/repository-api.ts";
import { branchState, nodesInOrder, workState } from "./branch-state.ts";

const NODE: RepositoryNode = {
  state: "merged",
  clone_at: "base",
  files: 1,
  insertions: 1,
  deletions: 0,
  refusals: [],
  checks: [],
};
const check = (commit: string, ok: boolean) => ({ command: "npm test", ok, commit, ms: 10 });
const refusal = (why: "conflict" | "checks") => ({ why, commit: "c", branch_at: "t", files: ["a"], seq: 9 });

function viewOf(nodes: RepositoryView["nodes"], more: Partial<RepositoryView> = {}): RepositoryView {
  return {
    ...{ source: "/shop", source_branch: "main", base: "base", branch: "agiraph/a", tip: "m2", uncommitted: 0 },
    ...{ submodules: [], uses_lfs: false, is_shallow: false, skipped: [], files: 1, insertions: 1, deletions: 0 },
    ...{ comments: [], delivered: [], commits: [], commits_total: 2, snapshots: [] },
    nodes,
    ...more,
  };
}

test("the branch is as green as the checks of its last commit", () => {
  const first = { ...NODE, merged: "m1", checks: [check("m1", false)] };
  const second = (ok: boolean) => ({ ...NODE, merged: "m2", checks: [check("m2", ok), check("older", false)] });
  const healthOf = (view: RepositoryView) => branchState(view).health;
  expect([
    healthOf(viewOf({ "node-1": first, "node-2": second(true) })),
    healthOf(viewOf({ "node-1": first, "node-2": second(false) })),
    healthOf(viewOf({ "node-1": { ...NODE, merged: "m2" } })),
    healthOf(viewOf({}, { tip: "base" })),
  ]).toEqual(["green", "red", "unchecked", "empty"]);
});

test("what was refused waits: for a conflict, or for its checks", () => {
  const nodes = {
    "node-10": { ...NODE, state: "refused" as const, refusals: [refusal("checks"), refusal("conflict")] },
    "node-2": { ...NODE, state: "refused" as const, refusals: [refusal("checks")] },
    "node-3": { ...NODE, state: "reverted" as const },
  };
  const view = viewOf(nodes);
  expect(nodesInOrder(view).map(([id, node]) => [id, workState(node)])).toEqual([
    ["node-2", "red"],
    ["node-3", "reverted"],
    ["node-10", "conflict"],
  ]);
  expect(branchState(view)).toMatchObject({ conflicts: 1, waiting: 1 });
});

test("a branch that moved after it was accepted is not in the person's repository as it is", () => {
  const delivered = (commit: string) => [{ seq: 1, ts: 1, commit, branch: "agiraph/a", how: "branch" as const }];
  const deliveryOf = (view: RepositoryView) => branchState(view).delivery;
  expect([
    deliveryOf(viewOf({})),
    deliveryOf(viewOf({}, { delivered: delivered("m1") })),
    deliveryOf(viewOf({}, { delivered: delivered("m2") })),
  ]).toEqual(["none", "behind", "done"]);
});
