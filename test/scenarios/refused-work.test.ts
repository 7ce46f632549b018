import { expect, test } from "vitest";
import type { Fact } from "../../src/protocol/index.ts";
import { both, call, script, startTeam, type TestTeam } from "../../src/testing/index.ts";
import { sandbox } from "../try-sandbox.ts";

const written = (path: string, content: string) => call("write_file", { path: `scratch/${path}`, content });
const made = (task: string, more: object = {}) => call("create_work_node", { task, ...more });

/** What happened to a node, in order, without the turns and tools in between. */
async function lifeOf(team: TestTeam, node: string): Promise<string[]> {
  const isItsEvent = (fact: Fact) => /^node\./.test(fact.type) && "node_id" in fact.data && fact.data.node_id === node;
  return (await team.facts()).filter(isItsEvent).map((fact) => fact.type.slice("node.".length));
}

/** What the tools answered somebody. */
async function answersTo(team: TestTeam, who: "coordinator" | (string & {})): Promise<[string, boolean, string][]> {
  const entries = await team.conversation(
    who === "coordinator" ? "conversation.jsonl" : `runs/run-1/workers/${who}/conversation.jsonl`,
  );
  return entries.flatMap((entry) => (entry.role === "tool" ? [[entry.tool, entry.ok, entry.content]] : []));
}

test("a publish of nothing, and one of less than was asked for, are refused with the reason", async () => {
  await using team = await startTeam({
    goal: "Report",
    coordinator: script(
      made("Report", { deliverables: ["report.md", "data/table.csv"] }),
      call("finish", { summary: "Reported." }).after("node-1 completed"),
    ),
    workers: {
      Alice: script(
        call("publish", { summary: "It is all there, believe me." }),
        written("report.md", "r"),
        call("publish", { summary: "Now it is." }),
        written("data/table.csv", "t"),
        call("publish", { summary: "Now it really is." }),
      ),
    },
  });
  await team.outcome();
  expect((await answersTo(team, "alice")).filter(([tool]) => tool === "publish")).toEqual([
    ["publish", false, "Not published: scratch/ is empty. Write your results there first, e.g. scratch/report.md."],
    [
      "publish",
      false,
      "Not published: the spec asks for scratch/data/table.csv, which is not there. scratch/ has: report.md.",
    ],
    ["publish", true, "Published: data/table.csv (1 bytes), report.md (1 bytes). The node is completed."],
  ]);
  expect(await lifeOf(team, "node-1")).toEqual(["created", "assigned", "started", "published", "completed"]);
});

test.skipIf(sandbox.kind === "none")(
  "a check that the spec names must pass before a publish is taken (needs a sandbox)",
  async () => {
    await using team = await startTeam({
      goal: "Add",
      coordinator: script(
        made("Write sum.sh, which prints 4", { checks: ['test "$(bash sum.sh)" = 4'] }),
        call("finish", { summary: "Added." }).after("node-1 completed"),
      ),
      workers: {
        Alice: script(
          written("sum.sh", "echo 5\n"),
          call("publish", { summary: "It prints 4." }),
          written("sum.sh", "echo $((2 + 2))\n").after("did not pass"),
          call("publish", { summary: "Now it prints 4." }),
        ),
      },
    });
    await team.outcome();
    const publishes = (await answersTo(team, "alice")).filter(([tool]) => tool === "publish");
    expect(publishes.map(([, ok, content]) => [ok, content.split("\n", 1)[0]])).toEqual([
      [false, 'Not published: the check `test "$(bash sum.sh)" = 4` did not pass.'],
      [true, "Published: sum.sh (16 bytes). The node is completed."],
    ]);
  },
);

const refusedOrders = [
  {
    what: "a dependency on a node that is not there",
    order: { dependencies: ["node-7"] },
    answer: 'Not created: there is no node "node-7". Choose from: node-1.',
  },
  {
    what: "a dependency on itself",
    order: { dependencies: ["node-2"] },
    answer: 'Not created: there is no node "node-2". Choose from: node-1.',
  },
  {
    what: "a dependency on the node it is made for, which waits for it",
    order: { dependencies: ["node-1"] },
    answer: "Not created: node-1 is waiting for this very work; it cannot come first.",
  },
  {
    what: "a ref to nowhere",
    order: { refs: { survey: "node-9/published/a.md" } },
    answer: 'Not created: ref "survey" is "node-9/published/a.md", and there is no node-9. Choose from: node-1.',
  },
  {
    what: "a ref to what is not published",
    order: { refs: { survey: "node-1/scratch/a.md" } },
    answer:
      'Not created: ref "survey" must point at the published files of another node, e.g. node-1/published/report.md; it is "node-1/scratch/a.md".',
  },
  {
    what: "a ref to the node it is made for",
    order: { refs: { survey: "node-1/published/a.md" } },
    answer:
      'Not created: ref "survey" must point at the published files of another node, e.g. node-1/published/report.md; it is "node-1/published/a.md".',
  },
  {
    what: "a name that is no node but something every object has",
    order: { dependencies: ["constructor"] },
    answer: 'Not created: there is no node "constructor". Choose from: node-1.',
  },
  {
    what: "a deliverable that is a sentence",
    order: { deliverables: ["A thorough report on everything"] },
    answer:
      'Not created: deliverables are file names, e.g. report.md; "A thorough report on everything" is not one. Say the rest in the task.',
  },
];

test.each(refusedOrders)("$what is refused with the reason, and nothing is on the board", async ({ order, answer }) => {
  await using team = await startTeam({
    goal: "Order",
    coordinator: script(made("The whole"), call("finish", { summary: "done" }).after("node-1 completed")),
    workers: {
      Alice: script(made("A part", order), written("a.md", "a").after(answer), call("publish", { summary: "a" })),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect((await answersTo(team, "alice"))[0]).toEqual(["create_work_node", false, answer]);
  expect(team.board().map((node) => node.id)).toEqual(["node-1"]);
});

test("a dependency on what has failed already could never begin, so it is refused", async () => {
  await using team = await startTeam({
    goal: "Go on",
    config: { contract: { max_iterations_per_node: 1 } },
    coordinator: script(
      made("First"),
      made("Second", { dependencies: ["node-1"] }).after("node-1 failed: exhausted"),
      call("finish", { summary: "Stopped there." }).after("Not created: node-1 has failed"),
    ),
    workers: { Alice: script(written("a.md", "a")) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Stopped there." });
  expect(team.board().map((node) => [node.id, node.status])).toEqual([["node-1", "failed"]]);
});

test("what waits for work that fails ends with it, all the way down, and the coordinator hears of each", async () => {
  await using team = await startTeam({
    goal: "Chain",
    config: { contract: { max_iterations_per_node: 1 } },
    coordinator: script(
      both(made("First"), made("Second", { dependencies: ["node-1"] }), made("Third", { dependencies: ["node-2"] })),
      call("finish", { summary: "The chain broke." }).after(
        "node-1 failed: exhausted",
        "node-2 failed: It builds on node-1, which failed.",
        "node-3 failed: It builds on node-2, which failed.",
      ),
    ),
    workers: { Alice: script(written("a.md", "a")) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "The chain broke." });
});

test("work may be handed down only so deep, and into only so many pieces", async () => {
  await using team = await startTeam({
    goal: "Divide",
    config: { max_depth: 2, max_children: 2 },
    coordinator: script(made("Root"), call("finish", { summary: "divided" }).after("node-1 completed")),
    workers: {
      Alice: script(
        both(made("Half"), made("Other half"), made("Third half")),
        written("a.md", "a").after(
          "Not created: node-1 has 2 sub-nodes already. Do the rest yourself.",
          "node-2 completed",
          "node-3 completed",
        ),
        call("publish", { summary: "a" }),
      ),
      ...Object.fromEntries(
        ["Bob", "Carol"].map((name) => [
          name,
          script(
            made("Quarter"),
            written("b.md", "b").after("Not created: work is already 2 levels deep. Do it yourself."),
            call("publish", { summary: "b" }),
          ),
        ]),
      ),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "divided" });
  expect(team.board().map((node) => [node.id, node.spec.parent_node_id, node.status])).toEqual([
    ["node-1", null, "completed"],
    ["node-2", "node-1", "completed"],
    ["node-3", "node-1", "completed"],
  ]);
});
