import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Batch } from "../../src/store/store.ts";
import { both, call, hang, script, startTeam, type TestTeam } from "../../src/testing/index.ts";
import { scriptedPrograms } from "../../src/testing/scripted-program.ts";

const written = (path: string, content = path) => call("write_file", { path: `scratch/${path}`, content });
const made = (task: string, more: object = {}) => call("create_work_node", { task, ...more });
const cancelled = (node_id: string, reason = "Not needed.") => call("cancel_node", { node_id, reason });
const published = (summary: string) => call("publish", { summary });
const inRun = (team: TestTeam, path: string) => readFile(join(team.agent.log.dir, "runs/run-1", path), "utf8");
const statuses = (team: TestTeam) => team.board().map(({ id, status }) => `${id} ${status}`);

/** What the tools answered the coordinator. */
async function answers(team: TestTeam, tool: string): Promise<[boolean, string][]> {
  return (await team.conversation()).flatMap((entry) =>
    entry.role === "tool" && entry.tool === tool ? [[entry.ok, entry.content]] : [],
  );
}

const lasting = async (team: TestTeam, words: string) =>
  team.until((now) => Object.values(now.board.nodes).some(({ id, status }) => `${id} ${status}` === words));

test("a node that is no longer needed ends with its sub-nodes; its worker is told and free, its files stay", async () => {
  const alice = script(
    written("draft.md"),
    made("A part", { worker: "Bob" }),
    hang(),
    // The next node of hers.
    written("other.md"),
    published("other"),
  );
  const begun = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Change your mind",
    coordinator: script(
      both(call("spawn_worker", { name: "Alice" }), call("spawn_worker", { name: "Bob" })),
      made("Write", { worker: "Alice" }),
      cancelled("node-1", "The client withdrew.").until(begun.promise),
      made("Another", { worker: "Alice" }),
      call("finish", { summary: "done" }).after("node-3 completed"),
    ),
    workers: { Alice: skippingHang(alice), Bob: script(hang()) },
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "node.started" && fact.data.node_id === "node-2") begun.resolve();
  });
  const appended = appendsOf(team);
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "done" });
  expect(statuses(team)).toEqual(["node-1 cancelled", "node-2 cancelled", "node-3 completed"]);
  expect(await answers(team, "cancel_node")).toEqual([[true, "node-1 is cancelled, with node-2."]]);
  expect(await inRun(team, "nodes/node-1/scratch/draft.md")).toBe("draft.md");
  expect(await inRun(team, "nodes/node-1/_status.md")).toBe("CANCELLED\n\nThe client withdrew.\n");
  const facts = await team.facts();
  expect(facts.flatMap((fact) => (fact.type === "node.cancelled" ? [fact.data] : []))).toEqual([
    { node_id: "node-2", by: "coordinator", reason: "It is part of node-1: The client withdrew." },
    { node_id: "node-1", by: "coordinator", reason: "The client withdrew." },
  ]);
  // CANCEL-1. One append: what is recorded and what those who had them are told.
  const told = (node: string, content: string) => ({
    file: `runs/run-1/workers/${node}/conversation.jsonl`,
    entries: [{ role: "user", from: "agiraph", content }],
  });
  expect(appended.filter(({ facts }) => facts?.some(({ type }) => type === "node.cancelled"))).toMatchObject([
    {
      facts: ["node.cancelled", "node.cancelled", "worker.idle", "worker.idle"].map((type) => ({ type })),
      otherEntries: [
        told("bob", "node-2 was cancelled by Coordinator: The client withdrew."),
        told("alice", "node-1 was cancelled by Coordinator: The client withdrew."),
      ],
    },
  ]);
  const heard = await team.conversation("runs/run-1/workers/alice/conversation.jsonl");
  expect(heard.map(({ seq }) => seq)).toEqual(heard.map((_, at) => at + 1));
  expect(JSON.stringify(heard)).toContain("node-1 was cancelled by Coordinator: The client withdrew.");
});

/** Everything that is appended from now on. */
function appendsOf({ agent }: TestTeam): Batch[] {
  const { log } = agent;
  const append = log.append.bind(log);
  const batches: Batch[] = [];
  log.append = (batch) => {
    batches.push(batch);
    return append(batch);
  };
  return batches;
}

/** A model that hangs once, until it is stopped, and then goes on with its script. */
function skippingHang(model: ReturnType<typeof script>): ReturnType<typeof script> {
  const reply = model.reply.bind(model);
  model.reply = async (request, signal) => {
    try {
      return await reply(request, signal);
    } catch (error) {
      if (signal.aborted) model.played++;
      throw error;
    }
  };
  return model;
}

test("whatever its state: waiting, failed or with the human; one that has ended is answered in words", async () => {
  await using team = await startTeam({
    goal: "Clear the board",
    config: { max_concurrent: 1 },
    coordinator: script(
      made("Done"),
      both(made("Fails"), made("Waits for node-2", { dependencies: ["node-2"] })).after("node-1 completed"),
      made("For the human").after("node-2 failed"),
      call("assign_worker", { node_id: "node-4", worker_id: "human" }),
      both(cancelled("node-1"), cancelled("node-2"), cancelled("node-4"), cancelled("node-4"), cancelled("node-9")),
      call("finish", { summary: "clear" }),
    ),
    workers: {
      Alice: script(written("a.md"), published("a"), call("give_up", { reason: "No." })),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "clear" });
  expect(statuses(team)).toEqual(["node-1 completed", "node-2 cancelled", "node-3 failed", "node-4 cancelled"]);
  expect((await answers(team, "cancel_node")).map(([ok, text]) => [ok, text.split("\n", 1)[0]])).toEqual([
    [false, "node-1 is completed; it cannot be cancelled any more."],
    [true, "node-2 is cancelled."],
    [true, "node-4 is cancelled."],
    [false, "node-4 is cancelled already."],
    [false, 'There is no node "node-9".'],
  ]);
  expect(team.agent.now.questions.open).toEqual({});
});

test("what depends on a cancelled node does not begin; the coordinator is told, and finish is not refused for it", async () => {
  const begun = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Build on sand",
    coordinator: script(
      both(made("Base"), made("House", { dependencies: ["node-1"] }), made("Roof", { dependencies: ["node-2"] })),
      cancelled("node-1").until(begun.promise),
      made("On sand", { dependencies: ["node-1"] }),
      call("finish", { summary: "none" }).after("Not created: node-1 was cancelled, nothing can wait for it."),
    ),
    workers: { Alice: script(hang()) },
  });
  team.agent.log.subscribe((fact) => fact.type === "node.started" && begun.resolve());
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "none" });
  expect(await answers(team, "cancel_node")).toEqual([
    [
      true,
      "node-1 is cancelled. node-2, node-3 depend on it and will not begin: cancel them too, or create them anew without.",
    ],
  ]);
  const facts = await team.facts();
  expect(facts.flatMap((fact) => (fact.type === "node.assigned" ? [fact.data.node_id] : []))).toEqual(["node-1"]);
});

test("a cancelled node can be given to somebody after all, and what depends on it goes on", async () => {
  const begun = Promise.withResolvers<void>();
  const alice = script(written("a.md"), hang(), published("a"), written("b.md"), published("b"));
  await using team = await startTeam({
    goal: "Change your mind twice",
    coordinator: script(
      both(call("spawn_worker", { name: "Alice" })),
      both(made("Base", { worker: "Alice" }), made("House", { dependencies: ["node-1"], worker: "Alice" })),
      cancelled("node-1").until(begun.promise),
      call("assign_worker", { node_id: "node-1", worker_id: "Alice" }),
      call("finish", { summary: "both" }).after("node-2 completed"),
    ),
    workers: { Alice: skippingHang(alice) },
  });
  team.agent.log.subscribe((fact) => fact.type === "tool.result" && fact.data.tool === "write_file" && begun.resolve());
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "both" });
  expect(statuses(team)).toEqual(["node-1 completed", "node-2 completed"]);
});

test("the human cancels a node that is being worked on: the coordinator is told and goes on", async () => {
  await using team = await startTeam({
    goal: "Listen",
    coordinator: script(
      both(made("First"), made("Second", { dependencies: ["node-1"] })),
      call("finish", { summary: "heard" }).after(
        "Your human cancelled node-1: Too expensive.",
        "Not begun, since it depends on node-1: node-2.",
      ),
    ),
    workers: { Alice: script(hang()) },
  });
  await lasting(team, "node-1 running");
  await team.until(({ roster }) => roster.coordinator?.status === "waiting");
  expect(await team.agent.cancel("node-1", "Too expensive.")).toMatch(/^node-1 is cancelled\. node-2 depends on it/);
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "heard" });
  await expect(team.agent.cancel("node-1")).rejects.toThrow("has finished");
});

test("an agent that is not running: the cancellation is recorded and nobody is started", async () => {
  await using first = await startTeam({
    goal: "Rest",
    coordinator: script(
      both(made("First"), made("Second")),
      call("finish", { summary: "one" }).after("Your human cancelled node-1: No reason was given.", "node-2 completed"),
    ),
    workers: { Alice: script(hang()), Bob: skippingHang(script(hang(), written("b.md"), published("b"))) },
  });
  await lasting(first, "node-1 running");
  await lasting(first, "node-2 running");
  await first.agent.stop("human");
  const team = await first.restart();
  const before = team.agent.now.seq;
  expect(await team.agent.cancel("node-1")).toBe("node-1 is cancelled.");
  await team.agent.idle();
  const after = (await team.facts()).filter(({ seq }) => seq > before).map(({ type }) => type);
  expect([after, team.agent.isWorking, team.agent.now.agent.status]).toEqual([
    ["node.cancelled", "worker.idle"],
    false,
    "stopped",
  ]);
  await team.agent.start("resumed");
  await team.agent.idle();
  expect([team.agent.now.agent.status, ...statuses(team)]).toEqual([
    "completed",
    "node-1 cancelled",
    "node-2 completed",
  ]);
  await team.runtime.close();
});

test("who handed out a part hears that it was cancelled, and publishes without it", async () => {
  await using team = await startTeam({
    goal: "Parts",
    coordinator: script(made("Whole"), call("finish", { summary: "done" }).after("node-1 completed")),
    workers: {
      Alice: script(
        both(made("Part"), made("Next part", { dependencies: ["node-2"] })),
        written("whole.md").after(
          "node-2 was cancelled by your human: No reason was given.",
          "Not begun, since it depends on node-2: node-3.",
        ),
        published("whole"),
      ),
      Bob: script(hang()),
    },
  });
  await lasting(team, "node-2 running");
  await team.until(({ roster }) => roster.alice?.status === "waiting");
  await team.agent.cancel("node-2");
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "done" });
  expect(statuses(team).slice(0, 2)).toEqual(["node-1 completed", "node-2 cancelled"]);
});

test("a program at work on it is ended", async () => {
  const outside = scriptedPrograms(async (program) => {
    program.emit({ kind: "begun", session_id: "s-1" }, { kind: "said", text: "I begin." });
    await program.interruption();
  });
  await using team = await startTeam({
    goal: "End it",
    coordinator: script(
      call("spawn_worker", { name: "Clara", program: "scripted" }),
      made("Work", { worker: "Clara" }),
      call("finish", { summary: "ended" }).after("Your human cancelled node-1: No reason was given."),
    ),
    outside,
  });
  await team.until(({ outside: { sessions } }) => sessions["node-1"] !== undefined);
  await team.agent.cancel("node-1");
  expect([outside.started[0]?.isClosed, team.agent.now.roster.clara?.status]).toEqual([true, "idle"]);
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "ended" });
});
