import { expect, test } from "vitest";
import type { Situation } from "../../projections/index.ts";
import { branchAtEnd, openedLines } from "./repository-lines.ts";
import { Story } from "./story.ts";

const [BASE, TIP] = ["1".repeat(40), "2".repeat(40)];
const check = (command: string, ok: boolean, commit = TIP) => ({ command, ok, ts: 1, of: "project", commit, ms: 1 });
const node = (...checks: ReturnType<typeof check>[]) => ({
  ...{ state: "merged", checks: Object.fromEntries(checks.map((each) => [each.command, each])) },
});
const at = (more: object) =>
  ({
    agent: { id: "agent-test" },
    repository: { branch: "agiraph/agent-test", base: BASE, tip: TIP, nodes: {}, deliveries: [], ...more },
  }) as unknown as Situation;
const lines = (more: object) => {
  const { words = "", commands = [] } = branchAtEnd(at(more), (...words) => words.join(" ")) ?? {};
  return [words, ...commands];
};

test("the end of a run says where the work is and what follows; checks that fail are named, however they came in", () => {
  const review = "Review it: diff agent-test";
  expect(lines({ tip: BASE })).toEqual(["Nothing was changed on the branch agiraph/agent-test"]);
  const nodes = {
    "node-1": node(check("npm test", false, BASE), check("npm run lint", false, BASE)),
    "node-2": node(check("npm test", false), check("npm run lint", true)),
  };
  expect(lines({ nodes })).toEqual([
    "The branch agiraph/agent-test has the work of 2 nodes, but this check fails: npm test",
    ...[review, "Take it: accept agent-test"],
  ]);
  expect(lines({ deliveries: [{ commit: TIP, how: "branch" }] })).toEqual([
    "The branch agiraph/agent-test is in your repository",
    ...[review, "Merge it: accept agent-test --merge"],
  ]);
  expect(lines({ deliveries: [{ commit: TIP, how: "merge", into: "main" }] })).toEqual([
    "agiraph/agent-test is merged into main",
    review,
  ]);
  expect(branchAtEnd({} as Situation, () => "")).toBeUndefined();
});

test("a check that failed before the work did is told once: it keeps nothing out", () => {
  const story = new Story(() => ({}));
  const fact = (node_id: string, red_before?: true) =>
    story.tell({
      ...{ seq: 1, agent_id: "agent-test", ts: 0, type: "check.finished" },
      data: {
        node_id,
        commit: TIP,
        command: "npm test",
        of: "project",
        ok: false,
        ms: 1,
        ...(red_before && { red_before }),
      },
    } as never);
  expect(fact("node-1").length).toBe(0);
  expect(fact("node-1", true).map(({ text }) => text)).toEqual([expect.stringContaining("fails without it too")]);
  expect(fact("node-2", true).length).toBe(0);
});

const OPENED = {
  ...{ base: BASE, branch: "agiraph/agent-test", source: "/home/pat/shop", source_branch: "main", uncommitted: 0 },
  ...{ submodules: [], uses_lfs: false, is_shallow: false, skipped: [] },
};
const BEGINS =
  "The team works on the branch agiraph/agent-test, which begins at 1111111111 of /home/pat/shop. Your files and branches stay as they are.";

test("what the team does not see is said at the start, many names cut short; where it sees all, only where it works", () => {
  const submodules = ["vendor/a", "vendor/b", "vendor/c", "vendor/d", "vendor/e", "vendor/f", "vendor/g"];
  const more = { uncommitted: 1, submodules, uses_lfs: true, is_shallow: true, skipped: ["logo.png"] };

  expect(openedLines(OPENED)).toEqual([BEGINS]);
  expect(openedLines({ ...OPENED, ...more })).toEqual([
    BEGINS,
    "It does not see what you have not committed (1 file). Commit it and `agiraph rebase`, or begin with --dirty include.",
    "It does not see what is in submodules: vendor/a, vendor/b, vendor/c, vendor/d, vendor/e and 2 more.",
    "Of files in Git LFS it sees only the pointers.",
    "It sees only the commits that your shallow clone has.",
    "Not included, since they are repositories of their own or pass a filter such as LFS: logo.png.",
  ]);
});
