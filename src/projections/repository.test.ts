import { expect, test } from "vitest";
import type { Fact } from "../protocol/index.ts";
import { applyToRepository, describeBranch, type RepositoryState } from "./repository.ts";

const [node_id, worker_id] = ["node-1", "ann"] as const;
const commit = { commit: "c1", tree: "t1", parent: "base", merged: "m1", files: 1, insertions: 1, deletions: 0 };
const refused = {
  type: "merge.refused",
  data: { node_id, worker_id, commit: "c2", branch_at: "m1", why: "conflict", files: ["a.js"] },
};
const unchanged = { type: "node.published", data: { node_id, worker_id, summary: "nothing to do", files: [] } };
const merged = { type: "node.published", data: { ...unchanged.data, commit } };
const reverted = [
  { type: "review.rejected", data: { node_id, by: "human", why: "no" } },
  { type: "branch.moved", data: { from: "m1", to: "r1", why: "revert", node_id } },
];

function after(...facts: object[]): RepositoryState {
  const opened = { type: "repository.opened", data: { base: "base", branch: "agiraph/a", source: "/p", skipped: [] } };
  return [opened, ...facts].reduce<RepositoryState | undefined>(
    (now, fact, at) => applyToRepository(now, { seq: at + 1, ts: at, ...fact } as Fact),
    undefined,
  ) as RepositoryState;
}

test("what was refused is over when its node is published without a change", () => {
  const work = (...facts: object[]) => {
    const now = after(...facts);
    const { state, refusals } = now.nodes[node_id] ?? {};
    return [state, refusals?.length, describeBranch(now).includes("conflicts in a.js")];
  };
  expect(work(refused)).toEqual(["refused", 1, true]);
  expect(work(refused, unchanged)).toEqual(["working", 0, false]);
  expect(work(merged, refused, unchanged)).toEqual(["merged", 0, false]);
  expect(work(merged, ...reverted, refused, unchanged)).toEqual(["reverted", 0, false]);
  // In part it is the end of a node that failed: its work stays refused.
  const partial = { ...unchanged.data, partial: { kind: "abandoned", error: "no" } };
  expect(work(refused, { type: "node.published", data: partial })).toEqual(["refused", 1, true]);
});
