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
    ...{ checks: [], comments: [], delivered: [], commits: [], commits_total: 2, snapshots: [] },
    nodes,
    ...more,
  };
}

/** A board where these nodes stand so; the others are at work. */
const boardOf = (ended: Record<string, "completed" | "failed">) =>
  ({
    board: { nodes: Object.fromEntries(Object.entries(ended).map(([id, status]) => [id, { id, status }])) },
  }) as never;
const AT_WORK = boardOf({});

test("the branch is as green as the checks of its last commit", () => {
  const healthOf = (view: RepositoryView) => branchState(AT_WORK, view).health;
  expect([
    healthOf(viewOf({}, { checks: [check("m2", true), check("m2", true)] })),
    healthOf(viewOf({}, { checks: [check("m2", true), check("m2", false)] })),
    // What an earlier commit passed says nothing of this one.
    healthOf(viewOf({ "node-1": { ...NODE, merged: "m1", checks: [check("m1", true)] } })),
    healthOf(viewOf({}, { tip: "base" })),
  ]).toEqual(["green", "red", "unchecked", "empty"]);
});

test("what was refused waits, for a conflict or for its checks, as long as its node has not ended", () => {
  const refused = { ...NODE, state: "refused" as const };
  const nodes = {
    "node-10": { ...refused, refusals: [refusal("checks"), refusal("conflict")] },
    "node-2": { ...refused, refusals: [refusal("checks")] },
    "node-3": { ...NODE, state: "reverted" as const },
    "node-4": { ...NODE, state: "working" as const },
  };
  const view = viewOf(nodes);
  const states = (board: typeof AT_WORK) => nodesInOrder(view).map(([id, node]) => [id, workState(board, id, node)]);
  expect(states(AT_WORK)).toEqual([
    ["node-2", "red"],
    ["node-3", "reverted"],
    ["node-4", "working"],
    ["node-10", "conflict"],
  ]);
  expect(branchState(AT_WORK, view)).toMatchObject({ conflicts: 1, waiting: 1 });
  const over = boardOf({ "node-10": "failed", "node-2": "failed", "node-3": "completed", "node-4": "completed" });
  expect(states(over)).toEqual([
    ["node-2", "ended"],
    ["node-3", "reverted"],
    ["node-4", "unchanged"],
    ["node-10", "ended"],
  ]);
  expect(branchState(over, view)).toMatchObject({ conflicts: 0, waiting: 0 });
});

test("a branch that moved after it was accepted is not in the person's repository as it is", () => {
  const delivered = (commit: string) => [{ seq: 1, ts: 1, commit, branch: "agiraph/a", how: "branch" as const }];
  const deliveryOf = (view: RepositoryView) => branchState(AT_WORK, view).delivery;
  expect([
    deliveryOf(viewOf({})),
    deliveryOf(viewOf({}, { delivered: delivered("m1") })),
    deliveryOf(viewOf({}, { delivered: delivered("m2") })),
  ]).toEqual(["none", "behind", "done"]);
});
