import { expect, test } from "vitest";
import type { NodeState, RepositoryState } from "../../projections/index.ts";
import { branchWords, workWords } from "./branch-words.ts";

const COMMIT = { commit: "c1", tree: "t", parent: "p", merged: "m1", files: 1, insertions: 6, deletions: 2 };
const WORK = {
  ...{ clone_at: "b", state: "working", commit: null, refusals: [], checks: {}, comments: [], rejected: null },
  snapshots: [],
};
const check = (command: string, ok: boolean, commit = "m1") => ({ command, ok, commit, of: "project", ms: 1, ts: 1 });
const refusal = (why: string, ...files: string[]) => ({ why, files, commit: "c", branch_at: "b", seq: 1 });

const repositoryWith = (work: object, more: object = {}) =>
  ({
    ...{ branch: "agiraph/a", base: "46d69bd63d0000", tip: "m1", source_branch: "main", deliveries: [] },
    nodes: { "node-1": { ...WORK, ...work } },
    ...more,
  }) as unknown as RepositoryState;
const node = (status: string) => ({ id: "node-1", status }) as unknown as NodeState;

test("what became of a node's work is said: as long as it is at work, only what holds it up", () => {
  const words = (work: object, status = "running") => workWords(node(status), repositoryWith(work));
  const red = { "npm test": check("npm test", false), lint: check("lint", true) };
  expect([
    words({}),
    words({ state: "refused", refusals: [refusal("checks"), refusal("conflict", "a.js", "b.js")] }),
    words({ state: "refused", refusals: [refusal("checks")], checks: red }),
    words({ state: "refused", refusals: [refusal("checks")], checks: red }, "failed"),
    words({}, "completed"),
    words({ state: "reverted", commit: COMMIT }, "completed"),
    words({ state: "merged", commit: COMMIT, checks: { lint: check("lint", true) } }, "completed"),
    words({ state: "merged", commit: COMMIT, checks: red }, "completed"),
    workWords(node("running"), repositoryWith({}, { nodes: {} })),
  ]).toEqual([
    "",
    "conflicts: a.js, b.js",
    "fails: npm test",
    "not merged",
    "no changes",
    "taken out",
    "merged +6 −2",
    "merged +6 −2, fails: npm test",
    "",
  ]);
});

test("the branch is said with its checks, and whether the person has it as it is", () => {
  const merged = (ok: boolean) => ({ state: "merged", commit: COMMIT, checks: { test: check("test", ok) } });
  const delivered = (commit: string) => ({
    deliveries: [{ commit, branch: "agiraph/a", how: "branch", seq: 1, ts: 1 }],
  });
  expect([
    branchWords(repositoryWith({}, { tip: "46d69bd63d0000" })),
    branchWords(repositoryWith(merged(true))),
    branchWords(repositoryWith(merged(false), delivered("m1"))),
    branchWords(repositoryWith({ state: "merged", commit: COMMIT }, delivered("m0"))),
    branchWords(
      repositoryWith(
        { state: "merged", commit: COMMIT },
        { deliveries: [{ commit: "m1", how: "merge", into: "main" }] },
      ),
    ),
    branchWords(repositoryWith({}, { checks: [check("test", true)], source_branch: null })),
  ]).toEqual([
    "agiraph/a on main 46d69bd63d: nothing yet",
    "agiraph/a on main 46d69bd63d: 1 node merged, checks pass, not accepted yet",
    "agiraph/a on main 46d69bd63d: 1 node merged, fails: test, accepted",
    "agiraph/a on main 46d69bd63d: 1 node merged, changed since it was accepted",
    "agiraph/a on main 46d69bd63d: 1 node merged, merged into main",
    "agiraph/a on 46d69bd63d: 0 nodes merged, checks pass, not accepted yet",
  ]);
});
