import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Fact } from "../../src/protocol/index.ts";
import { both, call, fail, hang, manualClock, say, script, startTeam, type TestTeam } from "../../src/testing/index.ts";
import { sandbox } from "../try-sandbox.ts";

const written = (path: string, content: string) => call("write_file", { path: `scratch/${path}`, content });
const made = (task: string, more: object = {}) => call("create_work_node", { task, ...more });
const inRun = (team: TestTeam, path: string) => readFile(join(team.agent.log.dir, "runs/run-1", path), "utf8");

const AGAIN = "Go on from there; another failure ends the node.";

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

test("a model call that fails is tried once more, and the work goes on where it was", async () => {
  await using team = await startTeam({
    goal: "Try",
    coordinator: script(made("Try it"), call("finish", { summary: "done" }).after("node-1 completed by Alice: whole")),
    workers: {
      Alice: script(
        written("half.md", "half"),
        fail("server", { message: "come back later" }),
        written("whole.md", "whole").after("This try failed: come back later"),
        call("publish", { summary: "whole" }),
      ),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(await lifeOf(team, "node-1")).toEqual([
    "created",
    "assigned",
    "started",
    "retried",
    "started",
    "published",
    "completed",
  ]);
  expect(await readdir(join(team.agent.log.dir, "runs/run-1/nodes/node-1/published"))).toEqual(["half.md", "whole.md"]);
});

test("a second failure ends the node: notes are left, the coordinator is told, and the worker is free for other work", async () => {
  await using team = await startTeam({
    goal: "Try",
    coordinator: script(
      made("Try it"),
      call("read_file", { path: "nodes/node-1/failure_notes.md" }).after("node-1 failed: come back later."),
      made("Something else").after("# Failure notes for node-1"),
      call("finish", { summary: "One of two." }).after("node-2 completed by Alice"),
    ),
    workers: {
      Alice: script(
        both("I begin.", written("half.md", "half")),
        fail("server", { message: "come back later" }),
        fail("server", { message: "come back later" }),
        written("other.md", "other"),
        call("publish", { summary: "other" }),
      ),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "One of two." });
  expect(await lifeOf(team, "node-1")).toEqual([
    "created",
    "assigned",
    "started",
    "retried",
    "started",
    "published",
    "failed",
  ]);
  expect(team.board().map((node) => [node.status, node.status === "failed" && node.outcome, node.failures])).toEqual([
    ["failed", { kind: "failed", error: "come back later" }, 1],
    ["completed", false, 0],
  ]);
  expect(await inRun(team, "nodes/node-1/failure_notes.md")).toBe(
    `${[
      "# Failure notes for node-1",
      "come back later",
      "## Conversation",
      "### user",
      "Try it",
      "### assistant",
      'I begin.\n- write_file {"path":"scratch/half.md","content":"half"}',
      "### result of write_file",
      "Wrote 4 bytes to scratch/half.md.",
      "### user",
      `This try failed: come back later\n${AGAIN}`,
    ].join("\n\n")}\n`,
  );
  expect(await inRun(team, "nodes/node-1/_status.md")).toBe("FAILED\n\ncome back later\n");
  // What there was is published all the same, for whoever takes it up.
  expect(await inRun(team, "nodes/node-1/published/half.md")).toBe("half");
  const ending = (await team.facts()).findIndex((fact) => fact.type === "node.failed");
  expect((await team.facts())[ending + 1]).toMatchObject({ type: "worker.idle", data: { worker_id: "alice" } });
});

test("who tries again has something to try with, however the first try ended", async () => {
  const words = (count: number) => Array.from({ length: count }, (_, at) => say(`Word ${at}.`));
  await using team = await startTeam({
    goal: "Try",
    config: { contract: { max_iterations_per_node: 4 } },
    coordinator: script(
      both(
        made("Talk"),
        made("One", { inference: "single" }),
        made("A folder", { inference: "single", deliverables: ["out/"] }),
      ),
      call("finish", { summary: "done" }).after(
        "node-1 completed by Alice: whole",
        "node-2 completed by Bob: Blue",
        "node-3 failed: the spec asks for scratch/out",
      ),
    ),
    workers: {
      Alice: script(
        ...words(4),
        both(written("a.md", "a"), call("publish", { summary: "whole" })).after(
          "This try failed: The worker stopped calling tools and never published.",
        ),
      ),
      Bob: script(
        fail("server", { message: "come back later" }),
        say("Blue").after("This try failed: come back later"),
      ),
      Carol: script(say("One answer."), say("Another answer.").after("This try failed: the spec asks for scratch/out")),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(team.board().map((node) => [node.failures, node.status])).toEqual([
    [1, "completed"],
    [1, "completed"],
    [1, "failed"],
  ]);
});

test("whoever runs out of turns publishes what there is, and somebody else goes on from it", async () => {
  await using team = await startTeam({
    goal: "Count to four",
    config: { contract: { max_iterations_per_node: 3 } },
    coordinator: script(
      made("Count to four", { deliverables: ["four.md"] }),
      both(
        call("spawn_worker", { name: "Bob" }),
        made("Go on to four", {
          worker: "Bob",
          deliverables: ["four.md"],
          refs: { begun: "node-1/published" },
        }),
      ).after(
        "node-1 failed: exhausted. What was done is in nodes/node-1/published/one.md, nodes/node-1/published/two.md.",
      ),
      call("finish", { summary: "Four." }).after("node-2 completed by Bob: four"),
    ),
    workers: {
      Alice: script(written("one.md", "1"), written("two.md", "1 2"), call("list_files", { path: "scratch" })),
      Bob: script(
        call("read_ref", { ref_name: "begun" }),
        written("four.md", "1 2 3 4").after("nodes/node-1/published/two.md"),
        call("publish", { summary: "four" }),
      ),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Four." });
  expect(
    team
      .board()
      .map((node) => [
        node.status,
        node.status === "failed" && node.outcome,
        "files" in node && node.files.map((file) => file.path),
      ]),
  ).toEqual([
    ["failed", { kind: "exhausted", turns: 3 }, ["one.md", "two.md"]],
    ["completed", false, ["four.md"]],
  ]);
  expect(await inRun(team, "nodes/node-1/failure_notes.md")).toMatch(
    /^# Failure notes for node-1\n\nAll 3 turns were used without finishing\.\n\n## Conversation\n\n### user\n\nCount to four/,
  );
});

test("a node has the time its stage's contract gives it, and not a moment more", async () => {
  const clock = manualClock();
  await using team = await startTeam({
    goal: "Hurry",
    clock,
    config: { contract: { timeout_seconds: 60 } },
    coordinator: script(
      made("Think for ever"),
      call("finish", { summary: "It took too long." }).after(
        "node-1 failed: Not done within 60 s. What was done is in nodes/node-1/published/half.md.",
      ),
    ),
    workers: { Alice: script(written("half.md", "half"), hang()) },
  });
  await event(team, (fact) => fact.type === "tool.result" && fact.data.worker_id === "alice");
  await clock.advance(59_999);
  expect(team.board().map((node) => node.status)).toEqual(["running"]);
  await clock.advance(1);
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "It took too long." });
  // Trying again would take as long: it is not retried.
  expect(await lifeOf(team, "node-1")).toEqual(["created", "assigned", "started", "published", "failed"]);
  expect(team.agent.now.roster.alice?.status).toBe("idle");
});

test("a rate limit takes neither the time of the worker that waits for it nor the others' place in the budget", async () => {
  const clock = manualClock();
  const HOURS = 2 * 3_600_000;
  await using team = await startTeam({
    goal: "Wait for it",
    clock,
    budget_usd: 1,
    config: { contract: { timeout_seconds: 60 } },
    coordinator: script(
      both(call("spawn_worker", { name: "Alice" }), call("spawn_worker", { name: "Bob" })),
      both(made("Wait", { worker: "Alice" }), made("Go on", { worker: "Bob" })),
      call("finish", { summary: "both" }).after("node-1 completed by Alice", "node-2 completed by Bob"),
    ),
    workers: {
      Alice: script(
        fail("rate_limited", { retryAfterMs: HOURS }),
        written("a.md", "a"),
        call("publish", { summary: "a" }),
      ),
      Bob: script(written("b.md", "b"), call("publish", { summary: "b" })),
    },
  });
  // Nobody knows what their model costs: only one at a time may try it, and Alice was first.
  await event(team, (fact) => fact.type === "node.completed" && fact.data.worker_id === "bob");
  await clock.advance(HOURS);
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "both" });
});

test("waiting for sub-nodes that are worked on takes none of the parent's time; waiting for nobody does", async () => {
  const clock = manualClock();
  const limited = fail("rate_limited", { retryAfterMs: 600_000 });
  await using team = await startTeam({
    goal: "Wait for them",
    clock,
    config: { contract: { timeout_seconds: 60 } },
    coordinator: script(
      made("The whole"),
      call("finish", { summary: "whole" }).after("node-1 failed: Not done within 60 s"),
    ),
    workers: {
      Alice: script(
        made("A part"),
        say("I wait."),
        call("check_messages", { wait: true }).after("node-2 completed by Bob"),
      ),
      Bob: script(limited, written("b.md", "b"), call("publish", { summary: "b" })),
    },
  });
  const waits = (who: string) =>
    event(
      team,
      (fact) => fact.type === "worker.waiting" && fact.data.worker_id === who && fact.data.for !== "children",
    );
  await waits("bob");
  await event(team, (fact) => fact.type === "worker.waiting" && fact.data.worker_id === "alice");
  await clock.advance(600_000);
  await waits("alice");
  expect(team.board().map((node) => node.status)).toEqual(["running", "completed"]);
  await clock.advance(60_000);
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "whole" });
});

test("two who wait for each other's people do not wait for ever", async () => {
  const clock = manualClock();
  const people = ["alice", "bob"];
  const there = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Cross",
    clock,
    config: { contract: { timeout_seconds: 60 } },
    coordinator: script(
      both(call("spawn_worker", { name: "Alice" }), call("spawn_worker", { name: "Bob" })),
      both(made("One", { worker: "Alice" }), made("Two", { worker: "Bob" })),
      call("finish", { summary: "untied" }).after(
        ...["node-1 failed: Not done", "node-2 failed: Not done", "node-3 completed", "node-4 completed"],
      ),
    ),
    workers: {
      Alice: script(
        made("For Bob", { worker: "Bob" }),
        say("I wait."),
        written("a.md", "a"),
        call("publish", { summary: "a" }),
      ),
      Bob: script(
        made("For Alice", { worker: "Alice" }).until(there.promise),
        say("I wait."),
        written("b.md", "b"),
        call("publish", { summary: "b" }),
      ),
    },
  });
  team.agent.log.subscribe((fact) => fact.type === "worker.waiting" && fact.data.for === "children" && there.resolve());
  for (const who of people)
    await event(
      team,
      (fact) => fact.type === "worker.waiting" && fact.data.worker_id === who && fact.data.for === "children",
    );
  await clock.advance(61_000);
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "untied" });
});

test("who goes in circles is told so, and then stopped", async () => {
  const again = () => call("list_files", { path: "scratch" });
  await using team = await startTeam({
    goal: "Turn",
    coordinator: script(
      made("Turn"),
      call("finish", { summary: "It turned." }).after(
        "node-1 failed: Going in circles: list_files was called 6 times in a row with the same answer.",
      ),
    ),
    workers: { Alice: script(...Array.from({ length: 6 }, again)) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "It turned." });
  const empty = "(scratch is empty.)";
  const hint = (times: number) =>
    `${empty}\n\n(This is the same call with the same answer, ${times} times in a row. Do something else.)`;
  expect((await answersTo(team, "alice")).map(([, , content]) => content)).toEqual([
    empty,
    empty,
    hint(3),
    hint(4),
    hint(5),
    hint(6),
  ]);
  expect(await lifeOf(team, "node-1")).toEqual(["created", "assigned", "started", "failed"]);
});

test("a worker that only talks is reminded, and in the end the node fails", async () => {
  await using team = await startTeam({
    goal: "Talk",
    coordinator: script(
      made("Talk"),
      call("finish", { summary: "Only words." }).after(
        "node-1 failed: The worker stopped calling tools and never published.",
      ),
    ),
    workers: { Alice: script(...Array.from({ length: 8 }, (_, at) => say(`Well (${at}).`))) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Only words." });
  const reminders = (await team.conversation("runs/run-1/workers/alice/conversation.jsonl")).filter(
    (entry) => entry.role === "user" && entry.content.startsWith("You called no tool."),
  );
  // In each of its two tries.
  expect(reminders.length).toBe(6);
});

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
    answer: 'Not created: there is no node "node-7". There are: node-1.',
  },
  {
    what: "a dependency on itself",
    order: { dependencies: ["node-2"] },
    answer: 'Not created: there is no node "node-2". There are: node-1.',
  },
  {
    what: "a dependency on the node it is made for, which waits for it",
    order: { dependencies: ["node-1"] },
    answer: "Not created: node-1 is waiting for this very work; it cannot come first.",
  },
  {
    what: "a ref to nowhere",
    order: { refs: { survey: "node-9/published/a.md" } },
    answer: 'Not created: ref "survey" is "node-9/published/a.md", and there is no node-9. There are: node-1.',
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
    answer: 'Not created: there is no node "constructor". There are: node-1.',
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

test("a coordinator that speaks after the news instead of acting is asked before its words are taken as the answer", async () => {
  await using team = await startTeam({
    goal: "Think",
    coordinator: script(
      made("Measure"),
      say("I wait.").after("Created node-1"),
      say("Interesting. I will now look at it.").after("node-1 completed"),
      call("finish", { summary: "80" }).after("nothing is under way"),
    ),
    workers: { Alice: script(written("a.md", "80"), call("publish", { summary: "80" })) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "80" });
});

test("where nodes failed, words are no answer: only finish says that the goal is met all the same", async () => {
  const lost = script(fail("auth"), fail("auth"));
  await using team = await startTeam({
    goal: "Think",
    coordinator: script(
      made("Measure"),
      say("I wait.").after("Created node-1"),
      say("Well, it is 80.").after("node-1 failed"),
      say("As I said, 80.").after(
        "nothing is under way. node-1 failed. If the goal is met all the same, call finish and say what is missing",
      ),
      call("finish", { summary: "80, guessed: node-1 failed" }).after("The run had failed"),
    ),
    workers: { Alice: lost },
  });
  await team.agent.idle();
  expect([team.agent.now.agent.status, team.agent.now.agent.error]).toEqual([
    "failed",
    "The coordinator never finished, and node-1 failed. Its last words: As I said, 80.",
  ]);
  await team.agent.start("resumed");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "80, guessed: node-1 failed" });
});

test("a coordinator that went in circles gets another chance when it is resumed", async () => {
  await using team = await startTeam({
    goal: "Think",
    coordinator: script(
      ...Array.from({ length: 6 }, () => call("list_files", { path: "nodes" })),
      call("finish", { summary: "out of it" }).after("The run had failed"),
    ),
  });
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({
    kind: "abandoned",
    error: expect.stringContaining("Going in circles: list_files was called 6 times"),
  });
  await team.agent.start("resumed");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "out of it" });
});

test("a coordinator that waits for messages while nobody works is told that none will come", async () => {
  await using team = await startTeam({
    goal: "Wait",
    coordinator: script(
      call("check_messages", { wait: true }),
      call("finish", { summary: "Nothing came." }).after("Nobody is at work, so nothing will come."),
    ),
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Nothing came." });
});

/** Resolves with the first such fact, also when it has happened already. */
async function event(team: TestTeam, is: (fact: Fact) => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = team.agent.log.subscribe((fact) => is(fact) && resolve());
  if ((await team.facts()).some(is)) resolve();
  await promise;
  stop();
}
