import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Fact, FactOf, FactType } from "../../src/protocol/index.ts";
import {
  both,
  call,
  fail,
  hang,
  say,
  script,
  startTeam,
  type TestTeam,
  temporaryHome,
} from "../../src/testing/index.ts";

const write = call("write_file", { path: "scratch/a.md", content: "80" });

test("work begins when what it builds on is completed, by whoever is free, and reads it by its ref", async () => {
  const alice = script(
    write,
    call("publish", { summary: "80" }),
    call("read_ref", { ref_name: "first" }),
    call("write_file", { path: "scratch/b.md", content: "160" }).after("80"),
    call("publish", { summary: "160" }),
  );
  await using team = await startTeam({
    goal: "Double it",
    coordinator: script(
      both(
        call("create_work_node", { task: "Measure" }),
        call("create_work_node", { task: "Double", refs: { first: "node-1/published/a.md" } }),
      ),
      call("finish", { summary: "160" }).after("node-1 completed by Alice: 80", "node-2 completed by Alice: 160"),
    ),
    workers: { Alice: alice },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "160" });
  expect(team.board().map((node) => [node.id, node.spec.dependencies])).toEqual([
    ["node-1", []],
    ["node-2", ["node-1"]],
  ]);
  // What was said on the first node is not said again on the second.
  expect(alice.requests[2]?.history.map((entry) => entry.content)).toEqual([
    'Double\n\n## Input\n\n<input name="first" path="nodes/node-1/published/a.md">\n80\n</input>',
  ]);
});

test("no more work at once than allowed; the rest begins as the others end", async () => {
  await using team = await startTeam({
    goal: "Go",
    config: { max_concurrent: 1 },
    coordinator: script(
      both(call("create_work_node", { task: "One" }), call("create_work_node", { task: "Two" })),
      call("finish", { summary: "done" }).after("node-1 failed", "node-2 completed"),
    ),
    workers: { Alice: script(fail("auth"), fail("auth"), write, call("publish", { summary: "80" })) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(Object.keys(team.agent.now.roster)).toEqual(["coordinator", "alice"]);
});

test("an order that cannot be carried out is refused with the reason, and nothing is made", async () => {
  await using team = await startTeam({
    goal: "Go",
    coordinator: script(
      call("create_work_node", { task: "Two", dependencies: ["node-9"] }),
      call("finish", { summary: "none" }).after('Not created: there is no node "node-9". The board is empty.'),
    ),
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "none" });
  expect([team.board(), await refusals(team)]).toEqual([[], ["create_work_node"]]);
});

test("a finish and a publish that are refused are failed calls, and the work goes on", async () => {
  await using team = await startTeam({
    goal: "Go",
    coordinator: script(
      both(call("create_work_node", { task: "One", deliverables: ["a.md"] }), call("finish", { summary: "early" })),
      call("finish", { summary: "done" }).after("node-1 completed"),
    ),
    workers: { Alice: script(call("publish", { summary: "early" }), write, call("publish", { summary: "80" })) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect((await refusals(team)).sort()).toEqual(["finish", "publish"]);
});

test("a reply without a call with nothing under way is asked about once; then the words are the answer", async () => {
  const coordinator = script(say("Hm."), say("It is 42."));
  await using team = await startTeam({ goal: "What is it?", coordinator });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "It is 42." });
  expect(
    (await team.conversation()).slice(1).map((entry) => (entry.role === "user" ? entry.content : entry.role)),
  ).toEqual([
    "What is it?",
    "assistant",
    "You called no tool and nothing is under way. If the goal is met, call finish; otherwise go on.",
    "assistant",
  ]);
});

test("a reply without a call while the team works is patience: it costs no question, and the count begins anew after it", async () => {
  const coordinator = script(
    say("Hm."),
    call("create_work_node", { task: "One" }),
    say("I wait."),
    say("So it is 80.").after("node-1 completed"),
    say("It is 80."),
  );
  await using team = await startTeam({
    goal: "What is it?",
    coordinator,
    workers: { Alice: script(write, call("publish", { summary: "80" })) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "It is 80." });
  const waits = (await team.facts()).filter(
    (fact) =>
      /^worker\.(waiting|busy)$/.test(fact.type) && "worker_id" in fact.data && fact.data.worker_id === "coordinator",
  );
  expect(waits.map(({ type, data }) => ({ type, data }))).toEqual([
    { type: "worker.busy", data: { worker_id: "coordinator", node_id: null } },
    { type: "worker.waiting", data: { worker_id: "coordinator", node_id: null, for: "news" } },
    { type: "worker.busy", data: { worker_id: "coordinator", node_id: null } },
  ]);
});

test("a worker that calls nothing is reminded three times in each of its tries, and then its node has failed", async () => {
  const reminder = "You called no tool. If the work is done, write it to scratch/ and call publish; otherwise go on.";
  await using team = await startTeam({
    goal: "Go",
    coordinator: script(
      call("create_work_node", { task: "One" }),
      call("finish", { summary: "no" }).after("node-1 failed: The worker stopped calling tools and never published."),
    ),
    workers: { Alice: script(...[..."abcdefgh"].map((word) => say(word))) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "no" });
  const said = await team.conversation("runs/run-1/workers/alice/conversation.jsonl");
  expect(said.filter((entry) => entry.role === "user").map((entry) => entry.content)).toEqual([
    "One",
    reminder,
    reminder,
    reminder,
    expect.stringMatching(/^This try failed: The worker stopped calling tools and never published\./),
    reminder,
    reminder,
    reminder,
  ]);
});

test("a single inference has no tools and one turn; its first line is its summary", async () => {
  const alice = script(say("\nBlue\nlike the sky"));
  const bob = script(call("write_file", { path: "scratch/a.md", content: "" }));
  await using team = await startTeam({
    goal: "Name a colour",
    coordinator: script(
      both(
        call("create_work_node", { task: "Name one", inference: "single" }),
        call("create_work_node", { task: "Name another", inference: "single" }),
      ),
      call("finish", { summary: "Blue" }).after("node-1 completed by Alice: Blue\n", "node-2 failed: exhausted"),
    ),
    workers: { Alice: alice, Bob: bob },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Blue" });
  expect(alice.requests.map((request) => request.tools)).toEqual([[]]);
});

test("an agent has the tools it was given, and no others", async () => {
  const coordinator = script(call("finish", { summary: "done" }));
  await using team = await startTeam({ goal: "Go", coordinator, tools: ["finish", "read_file"] });
  await team.outcome();
  expect(coordinator.requests[0]?.tools.map((tool) => tool.name)).toEqual(["read_file", "finish"]);
});

test("the tools of an agent bind its workers too; what begins and ends one's work is always there", async () => {
  const coordinator = script(
    call("create_work_node", { task: "One" }),
    call("create_work_node", { task: "Two", refs: { one: "node-1/published" } }).after("node-1 completed"),
    call("finish", { summary: "done" }).after("node-2 completed"),
  );
  const alice = script(write, call("publish", { summary: "80" }), write, call("publish", { summary: "81" }));
  await using team = await startTeam({
    goal: "Go",
    coordinator,
    workers: { Alice: alice },
    tools: ["create_work_node", "write_file", "bash"],
  });
  await team.outcome();
  const given = (model: typeof alice) => model.requests.at(-1)?.tools.map((tool) => tool.name);
  expect([given(coordinator), given(alice)]).toEqual([
    ["write_file", "bash", "bash_output", "create_work_node", "finish"],
    ["write_file", "bash", "bash_output", "read_ref", "create_work_node", "checkpoint", "give_up", "publish"],
  ]);
});

test("checkpoints are recorded with who made them", async () => {
  await using team = await startTeam({
    goal: "Go",
    coordinator: script(
      call("checkpoint", { summary: "begun" }),
      call("create_work_node", { task: "One" }),
      call("finish", { summary: "done" }).after("node-1 completed"),
    ),
    workers: { Alice: script(call("checkpoint", { summary: "half" }), write, call("publish", { summary: "80" })) },
  });
  await team.outcome();
  expect((await told(team, "worker.checkpointed")).map(({ data }) => data)).toEqual([
    { worker_id: "coordinator", node_id: null, summary: "begun", call_id: "call-1" },
    { worker_id: "alice", node_id: "node-1", summary: "half" },
  ]);
});

test("a message reaches a worker before its next call, and nobody else", async () => {
  const began = Promise.withResolvers<void>();
  const sent = Promise.withResolvers<void>();
  const coordinator = script(
    call("create_work_node", { task: "One" }),
    call("finish", { summary: "done" }).after("node-1 completed"),
  );
  await using team = await startTeam({
    goal: "Go",
    coordinator,
    workers: {
      Alice: script(
        write.until(sent.promise),
        write.after("Not run: a message came first", "[Message from your human]: hurry"),
        call("publish", { summary: "80" }),
      ),
    },
  });
  team.agent.log.subscribe(
    (fact) => fact.type === "model.called" && fact.data.worker_id === "alice" && began.resolve(),
  );
  await began.promise;
  const data = { message_id: "m1", from: "human", to: "alice", text: "hurry", file: "_messages/m1.md", hops: 1 };
  await team.agent.log.append({ facts: [{ type: "message.sent", data }] }).durable;
  sent.resolve();
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(JSON.stringify(coordinator.requests)).not.toContain("hurry");
});

test("when the turns are used up, the agent has failed and nobody works any more; the run stays open", async () => {
  const alice = script(hang());
  await using team = await startTeam({
    goal: "Go",
    config: { max_turns: 2 },
    coordinator: script(call("create_work_node", { task: "One" }), call("list_files")),
    workers: { Alice: alice },
  });
  await team.agent.idle();
  const { status, error, outcome, run } = team.agent.now.agent;
  expect({ status, error, outcome, finished: run?.finished }).toEqual({
    status: "failed",
    error: "All 2 turns were used without finishing.",
    outcome: { kind: "exhausted", turns: 2 },
    finished: null,
  });
  const ends = (await team.facts()).filter(({ type }) => /^run\.finished|^node\.failed|^worker\.stopped/.test(type));
  expect(ends.map(({ type, data }) => ({ type, data }))).toEqual([
    { type: "worker.stopped", data: { worker_id: "alice" } },
  ]);
});

test("a run that failed is not over: once mended, resume goes on with it", async () => {
  await using team = await startTeam({
    goal: "Go",
    coordinator: script(fail("auth", { message: "no such key" }), call("finish", { summary: "done" })),
  });
  await team.agent.idle();
  const { status, error, run } = team.agent.now.agent;
  expect([status, error, run?.finished]).toEqual(["failed", "no such key", null]);
  await team.agent.start("resumed");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect([team.agent.now.agent.runs, team.agent.now.agent.error]).toEqual([1, null]);
});

test("after a run that has ended comes the next, with its own people and its own answer, and the same memory of what was said", async () => {
  const coordinator = script(
    call("create_work_node", { task: "One" }),
    call("finish", { summary: "one" }).after("node-1 completed by Alice"),
    call("create_work_node", { task: "Two" }),
    call("finish", { summary: "two" }).after("node-2 completed by Bob"),
  );
  await using team = await startTeam({
    goal: "The goal",
    coordinator,
    workers: {
      Alice: script(write, call("publish", { summary: "80" })),
      Bob: script(write, call("publish", { summary: "80" })),
    },
  });
  await team.agent.idle();
  expect(team.agent.now.agent.run?.finished).toEqual({ kind: "finished", summary: "one" });
  await team.agent.start("resumed");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "two" });
  expect((await told(team, "run.started")).map(({ data }) => data)).toEqual([
    { run_id: "run-1", goal: "The goal" },
    { run_id: "run-2", goal: "The goal" },
  ]);
  expect((await told(team, "worker.spawned")).map(({ data: { run_id, worker_id } }) => [run_id, worker_id])).toEqual([
    ["run-1", "coordinator"],
    ["run-1", "alice"],
    ["run-2", "bob"],
  ]);
  const goals = coordinator.requests.at(-1)?.history.filter((entry) => entry.role === "user" && entry.from === "human");
  expect(goals?.map((entry) => entry.content)).toEqual(["The goal", "The goal"]);
});

test("stopping who does not work says nothing in the log", async () => {
  await using team = await startTeam({ goal: "Go", coordinator: script(call("finish", { summary: "done" })) });
  await team.outcome();
  const before = await team.facts();
  await team.agent.stop("human");
  expect(await team.facts()).toEqual(before);
});

test("a stop is in the log with who asked for it, and everyone is then stopped, waiting or working", async () => {
  await using team = await startTeam({
    goal: "Go",
    coordinator: script(call("create_work_node", { task: "One" }), hang()),
    workers: { Alice: script(hang()) },
  });
  await until(team, (fact) => fact.type === "model.called" && fact.data.worker_id === "alice");
  await team.agent.stop("human");
  expect((await told(team, "agent.stopped")).map(({ data }) => data)).toEqual([{ by: "human" }]);
  expect(Object.values(team.agent.now.roster).map(({ id, status }) => [id, status])).toEqual([
    ["coordinator", "stopped"],
    ["alice", "stopped"],
  ]);
  expect(team.agent.now.agent.run?.finished).toBe(null);
});

test("when something of ours breaks under one worker, its node is tried once more and then has failed; the others go on", async () => {
  await using team = await startTeam({
    goal: "Go",
    coordinator: script(
      both(call("create_work_node", { task: "One" }), call("create_work_node", { task: "Two" })),
      call("finish", { summary: "half" }).after("node-1 failed: The script of", "node-2 completed"),
    ),
    workers: { Alice: script(), Bob: script(write, call("publish", { summary: "80" })) },
  });
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "half" });
  const error = expect.stringContaining("one more reply was asked for");
  const alices = (await team.facts()).filter(({ type }) => type === "node.retried" || type === "node.failed");
  expect(alices.map(({ type, data }) => ({ type, data }))).toEqual([
    { type: "node.retried", data: { node_id: "node-1", worker_id: "alice", error } },
    { type: "node.failed", data: { node_id: "node-1", worker_id: "alice", outcome: { kind: "failed", error } } },
  ]);
});

test("how a worker's turns ran out is said of the worker's node, for people too", async () => {
  await using team = await startTeam({
    goal: "Go",
    config: { max_turns: 3 },
    coordinator: script(
      call("create_work_node", { task: "One" }),
      call("finish", { summary: "no" }).after("node-1 failed: exhausted"),
    ),
    workers: { Alice: script(call("list_files"), call("list_files"), call("list_files")) },
  });
  await team.outcome();
  const status = await readFile(join(team.agent.log.dir, "runs/run-1/nodes/node-1/_status.md"), "utf8");
  expect(status).toBe("FAILED\n\nAll 3 turns were used without finishing.\n");
});

test("streamed words reach who listens, until they no longer do", async () => {
  const heard: string[] = [];
  const go = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Go",
    coordinator: script(
      both(say("Looking around."), call("list_files")).until(go.promise),
      both(say("Done."), call("finish", { summary: "done" })),
    ),
  });
  const stop = team.agent.onDelta(({ worker_id, node_id, kind, text }) => {
    heard.push(`${worker_id} ${node_id} ${kind} ${text}`);
    if (text.includes("around")) stop();
  });
  go.resolve();
  await team.outcome();
  expect(heard).toEqual(["coordinator null text Looking", "coordinator null text  around."]);
});

test("what people read is on disk: the plan, how each node ended, its trace, and the output", async () => {
  await using team = await startTeam({
    goal: "Which chip?",
    coordinator: script(
      call("create_work_node", { task: "Measure A" }),
      call("finish", { summary: "A" }).after("node-1 completed"),
    ),
    workers: { Alice: script(write, call("publish", { summary: "A: 80" })) },
  });
  const during = Promise.withResolvers<string>();
  const run = join(team.agent.log.dir, "runs/run-1");
  team.agent.log.subscribe((fact) => {
    if (fact.type === "model.called" && fact.data.worker_id === "alice")
      readFile(join(run, "nodes/node-1/_status.md"), "utf8").then(during.resolve);
  });
  await team.outcome();
  expect(await during.promise).toBe("RUNNING\n\nBy Alice.\n");
  expect(await readFile(join(run, "_plan.md"), "utf8")).toMatch(
    /^# Plan\n\nGoal: Which chip\?\n\n- node-1 \[\w+\] Measure A/,
  );
  expect(await readFile(join(run, "nodes/node-1/_status.md"), "utf8")).toBe("COMPLETED\n\nA: 80\n");
  expect((await readFile(join(run, "_output.md"), "utf8")).replace(/\n<!-- Written by Agiraph .*\n$/, "")).toBe(
    "# Output\n\nGoal: Which chip?\n\nOutcome: finished\n\nA\n\n## Published files\n\n- nodes/node-1/published/a.md\n",
  );
  const trace = (await readFile(join(run, "nodes/node-1/log.jsonl"), "utf8")).trim().split("\n");
  const own = (await team.facts()).filter((fact) => "node_id" in fact.data && fact.data.node_id === "node-1");
  expect(JSON.parse(trace.at(-1) ?? "")).toEqual(own.at(-1));
});

test("a prompt in the home stands before the built-in one", async () => {
  await using home = await temporaryHome();
  await mkdir(join(home.path, "prompts"));
  await writeFile(join(home.path, "prompts/soul.md"), "You are a bear.");
  const coordinator = script(call("finish", { summary: "done" }));
  await using team = await startTeam({ goal: "Go", coordinator, home: home.path });
  await team.outcome();
  expect(coordinator.requests[0]?.system).toMatch(/^You are a bear\.\s+---\s+# Your goal\s+Go\n/);
});

async function refusals(team: TestTeam): Promise<string[]> {
  return (await told(team, "tool.result")).flatMap(({ data: { ok, tool } }) => (ok ? [] : [tool]));
}

async function told<T extends FactType>(team: TestTeam, type: T): Promise<FactOf<T>[]> {
  return (await team.facts()).filter((fact): fact is FactOf<T> => fact.type === type);
}

function until(team: TestTeam, wanted: (fact: Fact) => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = team.agent.log.subscribe((fact) => {
    if (!wanted(fact)) return;
    stop();
    resolve();
  });
  return promise;
}
