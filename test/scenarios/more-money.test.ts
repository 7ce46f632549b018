import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { both, call, type ScriptStep, script, startTeam, type TestTeam } from "../../src/testing/index.ts";

const written = (path: string, content: string) => call("write_file", { path: `scratch/${path}`, content });
const made = (task: string, more: object = {}) => call("create_work_node", { task, ...more });
const costing = (step: ScriptStep, cost_usd: number) => step.with({ cost_usd });
const states = (team: TestTeam) => team.board().map((node) => [node.id, node.status]);
const published = (team: TestTeam, path: string) =>
  readFile(join(team.agent.log.dir, `runs/run-1/nodes/${path}`), "utf8");

test("with more money everyone goes on where they were, with their words and files, and what was given up with them comes back", async () => {
  const bobWaits = Promise.withResolvers<void>();
  const alice = script(
    costing(written("a.md", "a beginning"), 0.01),
    costing(written("b.md", "more"), 0.2).until(bobWaits.promise),
    call("publish", { summary: "Alice's part" }),
  );
  await using team = await startTeam({
    goal: "Spend it all",
    budget_usd: 0.1,
    coordinator: script(
      both(call("spawn_worker", { name: "Alice" }), call("spawn_worker", { name: "Bob" })),
      both(
        made("Alice's part", { worker: "Alice" }),
        made("Bob's part", { worker: "Bob" }),
        made("Put together", { worker: "Bob", dependencies: ["node-1", "node-2"] }),
      ),
      call("send_message", { to: "Bob", content: "Go on." }).after("node-2 had run out of money"),
      call("finish", { summary: "all there" }).after("node-3 completed by Bob"),
    ),
    workers: {
      Alice: alice,
      Bob: script(
        both(written("draft.md", "a beginning"), call("check_messages", { wait: true })),
        call("publish", { summary: "Bob's part" }).after("Go on."),
        written("whole.md", "whole"),
        call("publish", { summary: "together" }),
      ),
    },
  });
  await team.until(({ roster }) => roster.bob?.status === "waiting");
  bobWaits.resolve();
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "budget_exhausted", spent_usd: expect.closeTo(0.21, 6) });
  expect(states(team)).toEqual([
    ["node-1", "failed"],
    ["node-2", "failed"],
    ["node-3", "failed"],
  ]);
  const before = team.agent.log.seq;

  await team.agent.start("resumed", { budget_usd: 1 });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "all there" });
  expect(states(team)).toEqual([
    ["node-1", "completed"],
    ["node-2", "completed"],
    ["node-3", "completed"],
  ]);
  const since = (await team.facts()).slice(before);
  expect(since.flatMap((fact) => (fact.type === "node.reopened" ? [fact.data] : []))).toEqual([
    { node_id: "node-1", reserved_for: "alice" },
    { node_id: "node-2", reserved_for: "bob" },
    { node_id: "node-3", reserved_for: "bob" },
  ]);
  // Nothing is done twice: what was written then is there, and Alice remembers having written it.
  const writes = since.flatMap((fact) => (fact.type === "tool.called" ? [[fact.data.tool, fact.data.node_id]] : []));
  expect(writes.filter(([, node]) => node !== null).toSorted()).toEqual([
    ["publish", "node-1"],
    ["publish", "node-2"],
    ["publish", "node-3"],
    ["write_file", "node-3"],
  ]);
  expect(
    alice.requests
      .at(-1)
      ?.history.filter((entry) => entry.role === "tool")
      .map((entry) => entry.tool),
  ).toEqual(["write_file", "write_file"]);
  expect(await published(team, "node-1/published/a.md")).toBe("a beginning");
  expect(await published(team, "node-2/published/draft.md")).toBe("a beginning");

  // The coordinator knows what there is to spend, and who goes on.
  const told = (await team.conversation()).flatMap((entry) => (entry.role === "user" ? entry.content : []));
  expect(
    told
      .find((words) => words.startsWith("The budget"))
      ?.split("\n\n")
      .slice(0, 4),
  ).toEqual([
    "The budget is now $1; $0.2100 is spent.",
    "node-1 had run out of money and goes on where it was.",
    "node-2 had run out of money and goes on where it was.",
    "node-3 had run out of money and goes on where it was.",
  ]);
  // What was not told before is no longer true.
  expect(told.join("\n")).not.toMatch(/node-2 failed|has ended/);
});

test("somebody who began more than one node when the money ended keeps them apart", async () => {
  const alice = script(
    costing(written("a.md", "a"), 0.2),
    call("publish", { summary: "first" }).after("First"),
    written("b.md", "b").after("Second"),
    call("publish", { summary: "second" }),
  );
  await using team = await startTeam({
    goal: "Two for one",
    budget_usd: 0.1,
    config: { max_concurrent: 1 },
    coordinator: script(
      both(made("First"), made("Second")),
      call("finish", { summary: "both" }).after("node-1 completed", "node-2 completed"),
    ),
    workers: { Alice: alice },
  });
  await team.agent.idle();
  const file = "runs/run-1/workers/alice/conversation.jsonl";
  const begun = (await team.conversation(file)).flatMap((entry) => (entry.role === "user" ? entry.node_id : []));
  expect([begun, states(team)]).toEqual([
    ["node-1", "node-2"],
    [
      ["node-1", "failed"],
      ["node-2", "failed"],
    ],
  ]);

  await team.agent.start("resumed", { budget_usd: 1 });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "both" });
  const heard = alice.requests.map(({ history }) =>
    history.map((entry) => (entry.role === "user" ? entry.content : entry.role)),
  );
  expect(heard).toEqual([["First"], ["First", "assistant", "tool"], ["Second"], ["Second", "assistant", "tool"]]);
});

test("what ran out of its own share stays as it is, and the coordinator is told", async () => {
  await using team = await startTeam({
    goal: "Share",
    budget_usd: 1,
    coordinator: script(
      made("A part", { budget_usd: 0.1 }),
      costing(call("checkpoint", { summary: "poor" }).after("node-1 failed: budget exhausted"), 1),
      call("finish", { summary: "without it" }).after(
        "The budget is now $2; $1.2000 is spent. What ran out of its own share stays as it is (node-1): hand out the rest as new work.",
      ),
    ),
    workers: { Alice: script(costing(written("a.md", "a"), 0.2)) },
  });
  await team.agent.idle();
  await team.agent.start("resumed", { budget_usd: 2 });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "without it" });
  expect(states(team)).toEqual([["node-1", "failed"]]);
});

test("a budget that is spent already is refused with both figures, and nothing changes", async () => {
  await using team = await startTeam({
    goal: "Spend",
    budget_usd: 0.1,
    coordinator: script(costing(call("checkpoint", { summary: "dear" }), 0.5)),
  });
  await team.agent.idle();
  const before = await team.facts();
  await expect(team.agent.start("resumed", { budget_usd: 0.5 })).rejects.toThrow(
    "A budget of $0.5 is too low: $0.5000 is already spent. A budget is the limit for everything, from the beginning.",
  );
  await expect(team.agent.start("resumed")).rejects.toThrow(
    "The budget of $0.1 is used up: $0.5000 is spent. Continue with more: --budget USD.",
  );
  expect(await team.facts()).toEqual(before);
});

test("what is said to an agent without money is kept, and heard when there is more", async () => {
  await using team = await startTeam({
    goal: "Spend",
    budget_usd: 0.1,
    coordinator: script(
      costing(call("checkpoint", { summary: "dear" }), 0.5),
      call("finish", { summary: "Blue." }).after("Take the blue one."),
    ),
  });
  await team.agent.idle();
  expect(await team.agent.send("Take the blue one.")).toBe(
    "Sent to coordinator. The budget of $0.1 is used up: $0.5000 is spent. Continue with more: --budget USD.",
  );
  await team.agent.start("resumed", { budget_usd: 2 });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Blue." });
  const said = (await team.facts()).flatMap((fact) => (fact.type === "message.sent" ? [fact.data.text] : []));
  expect(said).toEqual(["Take the blue one."]);
});
