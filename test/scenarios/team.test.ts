import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { both, call, fail, hang, say, script, startTeam } from "../../src/testing/index.ts";

test("an agent works alone, and its whole life is in the log", async () => {
  await using team = await startTeam({
    goal: "Write a haiku.",
    coordinator: script(
      call("write_file", { path: "haiku.md", content: "An old silent pond" }),
      call("finish", { summary: "See haiku.md." }),
    ),
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "See haiku.md." });
  expect((await team.facts()).map((fact) => fact.type)).toEqual([
    "agent.created",
    "agent.started",
    "run.started",
    "worker.spawned",
    "worker.busy",
    "model.called",
    "model.responded",
    "tool.called",
    "tool.result",
    "model.called",
    "model.responded",
    "tool.called",
    "tool.result",
    "worker.idle",
    "run.finished",
    "agent.completed",
  ]);
  expect(await readFile(join(team.agent.log.dir, "runs/run-1/haiku.md"), "utf8")).toBe("An old silent pond");
});

test("a worker takes a node, publishes, and the coordinator is told", async () => {
  await using team = await startTeam({
    goal: "Which chip is faster?",
    coordinator: script(
      call("create_work_node", { task: "Measure chip A", deliverables: ["a.md"] }),
      call("finish", { summary: "A is fast" }).after("node-1 completed by Alice: A: 80"),
    ),
    workers: {
      Alice: script(
        call("publish", { summary: "A: 80" }),
        call("write_file", { path: "scratch/a.md", content: "80" }).after("Not published"),
        call("publish", { summary: "A: 80" }),
      ),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "A is fast" });
  expect(team.board().map((node) => [node.spec.task, node.status, "summary" in node && node.summary])).toEqual([
    ["Measure chip A", "completed", "A: 80"],
  ]);
  expect(await readFile(join(team.agent.log.dir, "runs/run-1/nodes/node-1/published/a.md"), "utf8")).toBe("80");
});

test("a single inference node is one answer, published as it is", async () => {
  await using team = await startTeam({
    goal: "Name a colour",
    coordinator: script(
      call("create_work_node", { task: "Name a colour", inference: "single" }),
      call("finish", { summary: "Blue" }).after("node-1 completed by Alice: Blue"),
    ),
    workers: { Alice: script(say("Blue")) },
  });
  await team.outcome();
  expect(await readFile(join(team.agent.log.dir, "runs/run-1/nodes/node-1/published/answer.md"), "utf8")).toBe("Blue");
});

test("a model that gives up twice fails the node with its reason and notes, and the coordinator decides", async () => {
  await using team = await startTeam({
    goal: "Try",
    coordinator: script(
      call("create_work_node", { task: "Try it" }),
      call("finish", { summary: "It could not be done." }).after("node-1 failed: no such key"),
    ),
    workers: { Alice: script(fail("auth", { message: "no such key" }), fail("auth", { message: "no such key" })) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "It could not be done." });
});

test("a run cannot finish while somebody works; a reply without a call waits for the news", async () => {
  const released = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Wait",
    coordinator: script(
      both(call("create_work_node", { task: "Slow" }), call("finish", { summary: "too early" })),
      call("finish", { summary: "done" }).after("node-1 completed"),
    ),
    workers: {
      Alice: script(
        call("write_file", { path: "scratch/x", content: "x" }).until(released.promise),
        call("publish", { summary: "x" }),
      ),
    },
  });
  const waiting = Promise.withResolvers<void>();
  team.agent.log.subscribe((fact) => fact.type === "worker.waiting" && waiting.resolve());
  await waiting.promise;
  released.resolve();
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
});

test("stop ends all work at once and keeps everything said; resume goes on from there", async () => {
  const coordinator = script(
    call("create_work_node", { task: "Long" }),
    call("finish", { summary: "done" }).after("It goes on now.", "node-1 completed"),
  );
  const alice = script(
    call("write_file", { path: "scratch/half.md", content: "half" }),
    hang(),
    call("publish", { summary: "whole" }),
  );
  await using team = await startTeam({ goal: "Go", coordinator, workers: { Alice: alice } });
  const written = Promise.withResolvers<void>();
  team.agent.log.subscribe(
    (fact) => fact.type === "tool.result" && fact.data.tool === "write_file" && written.resolve(),
  );
  await written.promise;
  await team.agent.stop("human");
  expect(team.agent.now.agent.status).toBe("stopped");
  expect(team.board().map((node) => node.status)).toEqual(["running"]);
  alice.played = 2;
  await team.agent.start("resumed");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(team.agent.now.agent.status).toBe("completed");
});

test("the budget is asked before a call, and the run ends when it is spent", async () => {
  await using team = await startTeam({
    goal: "Spend",
    budget_usd: 1,
    coordinator: script(call("list_files").with({ cost_usd: 0.9 }), call("list_files").with({ cost_usd: 0.2 })),
  });
  expect(await team.outcome()).toEqual({ kind: "budget_exhausted", spent_usd: 1.1 });
  expect((await team.facts()).filter((fact) => fact.type.startsWith("budget.")).map((fact) => fact.type)).toEqual([
    "budget.warned",
    "budget.exceeded",
  ]);
  expect(team.agent.now.agent.status).toBe("failed");
});
