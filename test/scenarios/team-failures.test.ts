import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Fact } from "../../src/protocol/index.ts";
import { both, call, fail, hang, manualClock, say, script, startTeam, type TestTeam } from "../../src/testing/index.ts";

const written = (path: string, content: string) => call("write_file", { path: `scratch/${path}`, content });
const made = (task: string, more: object = {}) => call("create_work_node", { task, ...more });
const inRun = (team: TestTeam, path: string) => readFile(join(team.agent.log.dir, "runs/run-1", path), "utf8");

const AGAIN = "Go on from there; another failure ends the node.";

/** What happened to a node, in order, without the turns and tools in between. */
async function lifeOf(team: TestTeam, node: string): Promise<string[]> {
  const isItsEvent = (fact: Fact) => /^node\./.test(fact.type) && "node_id" in fact.data && fact.data.node_id === node;
  return (await team.facts()).filter(isItsEvent).map((fact) => fact.type.slice("node.".length));
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

/** Resolves with the first such fact, also when it has happened already. */
async function event(team: TestTeam, is: (fact: Fact) => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = team.agent.log.subscribe((fact) => is(fact) && resolve());
  if ((await team.facts()).some(is)) resolve();
  await promise;
  stop();
}
