import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { NodeState } from "../../src/projections/index.ts";
import { both, call, hang, say, script, startTeam, type TestTeam, temporaryHome } from "../../src/testing/index.ts";

const written = (path: string, content = path) => call("write_file", { path: `scratch/${path}`, content });
const made = (task: string, more: object = {}) => call("create_work_node", { task, ...more });
const published = (summary: string) => call("publish", { summary });
const inRun = (team: TestTeam, path: string) => readFile(join(team.agent.log.dir, "runs/run-1", path), "utf8");
const hired = (...names: string[]) => both(...names.map((name) => call("spawn_worker", { name })));

function nodeIn(team: TestTeam, at: number): NodeState {
  const node = team.board()[at];
  if (!node) throw new Error(`There is no node ${at}.`);
  return node;
}

// give_up

test("who cannot do it says so: the node fails at once with the reason, its files are kept, and it can be changed", async () => {
  const alice = script(
    written("tried.md"),
    call("give_up", { reason: "The API was shut down in 2019; use the archive instead." }),
    written("report.md").after("Coordinator changed your node", "Use the archive."),
    published("from the archive"),
    written("more.md"),
    published("more"),
  );
  await using team = await startTeam({
    goal: "Report",
    coordinator: script(
      hired("Alice"),
      both(made("Ask the API", { worker: "Alice" }), made("More", { worker: "Alice", dependencies: ["node-1"] })),
      call("update_node", { node_id: "node-1", task: "Use the archive." }).after(
        "node-1 failed: The API was shut down in 2019; use the archive instead. What was done is in nodes/node-1/published/tried.md.",
      ),
      call("assign_worker", { node_id: "node-1", worker_id: "Alice" }).after(
        "node-1 is changed. It is failed: assign_worker has it done again.",
      ),
      call("finish", { summary: "done" }).after("node-1 completed", "node-2 completed"),
    ),
    workers: { Alice: alice },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect((await team.facts()).filter(({ type }) => type === "node.retried")).toEqual([]);
  expect(alice.requests[0]?.tools.map(({ name }) => name)).toContain("give_up");
});

// Changing a node

test("a check that cannot pass is withdrawn while somebody is at work; publish goes by the node as it is now", async () => {
  const refused = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Check",
    coordinator: script(
      made("Write a.md", { checks: ["grep -q impossible a.md"], deliverables: ["a.md", "b.md"] }),
      call("update_node", { node_id: "node-1", checks: [], deliverables: ["a.md"] }).until(refused.promise),
      call("finish", { summary: "done" }).after("node-1 is changed. Alice is told.", "node-1 completed"),
    ),
    workers: {
      Alice: script(
        written("a.md"),
        published("a"),
        call("check_messages", { wait: true }).after(
          "the check `grep -q impossible a.md` did not pass.\nExit code 1.\n(no output)",
        ),
        published("a").after(
          "Coordinator changed your node, node-1. Its deliverables now: a.md.\nIts checks now: none.",
        ),
      ),
    },
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "worker.waiting" && fact.data.worker_id === "alice") refused.resolve();
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(nodeIn(team, 0).spec).toMatchObject({ task: "Write a.md", deliverables: ["a.md"] });
  expect(nodeIn(team, 0).spec.checks).toBeUndefined();
  expect(await inRun(team, "nodes/node-1/_spec.md")).toBe("# node-1\n\nWrite a.md\n\n## Deliverables\n\n- a.md\n");
});

test("the human changes a node too, and the coordinator is told; what is published stays as it is", async () => {
  await using team = await startTeam({
    goal: "Change",
    coordinator: script(
      hired("Alice"),
      both(made("One", { worker: "Alice" }), made("Two", { hold: true })),
      call("update_node", { node_id: "node-1", task: "Late" }).after("node-1 completed"),
      both(
        call("update_node", { node_id: "node-2" }),
        call("update_node", { node_id: "node-2", deliverables: ["a sentence"] }),
      ).after("node-1 is completed; it cannot be changed any more. Create a new node."),
      say("Waiting for you.").after("Say what to change: task, deliverables or checks."),
      call("finish", { summary: "done" }).after("Your human changed node-2. Its task now: Two, but blue."),
    ),
    workers: { Alice: script(written("a.md"), published("a")) },
  });
  await team.until(({ spending }) => (spending.by_worker.coordinator?.calls ?? 0) >= 5);
  expect(await team.agent.update("node-2", { task: "Two, but blue." })).toBe("node-2 is changed.");
  await team.agent.idle();
  expect(nodeIn(team, 1).spec.task).toBe("Two, but blue.");
});

test("what the coordinator writes into a changed node's _spec.md is what its worker is told", async () => {
  const alice = script(written("a.md").after("Two, and mind the units."), published("a"));
  await using team = await startTeam({
    goal: "Specify",
    coordinator: script(
      hired("Alice"),
      made("One", { hold: true }),
      call("update_node", { node_id: "node-1", task: "Two" }),
      call("write_file", { path: "nodes/node-1/_spec.md", content: "# node-1\n\nTwo, and mind the units.\n" }),
      call("assign_worker", { node_id: "node-1", worker_id: "Alice" }),
      call("finish", { summary: "done" }).after("node-1 completed"),
    ),
    workers: { Alice: alice },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(await inRun(team, "nodes/node-1/_spec.md")).toBe("# node-1\n\nTwo, and mind the units.\n");
});

test("checks have the same names for folders as the worker's own bash", async () => {
  await using project = await temporaryHome();
  await using team = await startTeam({
    goal: "Check",
    project: project.path,
    coordinator: script(
      made("Write", { checks: ['test -d "$PROJECT" && test -d "$RUN" && test -f "$SCRATCH/a.md"'] }),
      call("finish", { summary: "done" }).after("node-1 completed"),
    ),
    workers: { Alice: script(written("a.md"), published("a")) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
});

// Given again

test.each([
  {
    how: "going in circles",
    // Not her whole folder: files beside her work (log.jsonl, _status.md) may appear while she looks.
    steps: Array.from({ length: 6 }, () => call("list_files", { path: "scratch" })),
    error: "node-1 failed: Going in circles",
  },
  {
    how: "out of turns",
    steps: Array.from({ length: 4 }, (_, at) => written(`${at}.md`)),
    error: "node-1 failed: exhausted",
  },
])(
  "a node that failed, $how, can be given to the same worker again, with turns of its own",
  async ({ steps, error }) => {
    const alice = script(...steps, written("a.md").after("node-1 is yours again"), published("a"));
    await using team = await startTeam({
      goal: "Again",
      config: { contract: { max_iterations_per_node: steps.length === 4 ? 4 : 20 } },
      coordinator: script(
        hired("Alice"),
        made("Work", { worker: "Alice" }),
        call("assign_worker", { node_id: "node-1", worker_id: "Alice" }).after(error),
        call("finish", { summary: "done" }).after("node-1 completed"),
      ),
      workers: { Alice: alice },
    });
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
    // All of it is one message: nobody takes a node over from herself.
    const history = alice.requests.at(-2)?.history ?? [];
    const last = history.findLastIndex(({ role }) => role === "tool");
    expect(history.slice(last + 1)).toMatchObject([
      { content: expect.stringMatching(/^node-1 is yours again: go on from what is there\.\n(There are no f|F)iles/) },
    ]);
    // She goes on with what she said before.
    expect(alice.requests.at(-1)?.history.filter(({ role }) => role === "assistant")).toHaveLength(steps.length + 1);
  },
);

test("who had a node that is given to another is free; who took it over and is stopped goes on where they were", async () => {
  const begun = Promise.withResolvers<void>();
  const bob = script(call("list_files"), hang(), written("a.md"), published("a"));
  await using first = await startTeam({
    goal: "Over",
    coordinator: script(
      hired("Alice", "Bob"),
      made("Work", { worker: "Alice" }),
      call("assign_worker", { node_id: "node-1", worker_id: "Bob" }).until(begun.promise),
      call("finish", { summary: "done" }).after("node-1 completed"),
    ),
    workers: { Alice: script(hang()), Bob: bob },
  });
  await first.until(({ roster }) => roster.alice?.status === "busy");
  begun.resolve();
  await first.until(() => bob.requests.length === 2);
  expect(first.agent.now.roster.alice?.status).toBe("idle");
  await first.agent.stop("human");
  bob.played++;
  const team = await first.restart();
  await team.agent.start("resumed");
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "done" });
  const said = await team.conversation("runs/run-1/workers/bob/conversation.jsonl");
  expect(said.map(({ role }) => role)).toEqual([
    "system",
    "user",
    "user",
    ...Array(3).fill(["assistant", "tool"]).flat(),
  ]);
  await team.runtime.close();
});

// Roles

const role = (name: string, prompt: string) => ({ name, title: "Analyst", prompt });

test("a role's checkpoint records progress and goes on; publish ends its node", async () => {
  await using team = await startTeam({
    goal: "Analyse",
    coordinator: script(
      call("launch_roles", { name: "Research", roles: [role("Alice", "Look.")] }),
      call("conclude", { output: "Seen." }).after("Alice reports: half", "node-1 completed by Alice: whole"),
    ),
    workers: {
      Alice: script(
        call("checkpoint", { summary: "half" }),
        written("a.md").after("Recorded.", "Go on; publish ends your work."),
        published("whole"),
      ),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "Seen." });
});

test("a role that stays keeps its conversation, also over a restart; who only takes another node does not", async () => {
  const alice = script(written("a.md"), published("The market is red."), hang());
  const bob = script(...[1, 2, 3].flatMap((n) => [written(`${n}.md`), published(`${n}`)]));
  await using first = await startTeam({
    goal: "Two stages",
    coordinator: script(
      call("launch_roles", { name: "Research", roles: [role("Alice", "Look at the market."), role("Bob", "Look.")] }),
      call("launch_roles", { name: "Synthesis", roles: [role("Alice", "Compare it."), role("Bob", "Again.")] }).after(
        "Stage 1 (Research) is done.",
      ),
      made("An ordinary node", { worker: "Bob" }).after("node-4 completed"),
      call("conclude", { output: "Seen." }).after("node-3 completed", "node-5 completed"),
    ),
    workers: { Alice: alice, Bob: bob },
  });
  await first.until(
    ({ board }) => board.nodes["node-5"]?.status === "completed" && board.nodes["node-3"]?.status === "running",
  );
  expect(bob.requests.at(-1)?.history.filter(({ role }) => role === "assistant")).toHaveLength(1);
  const said = (at: number) =>
    alice.requests.at(at)?.history.map((entry) => ("content" in entry ? JSON.stringify(entry.content) : ""));
  expect(said(-1)?.join("\n")).toContain("Look at the market.");
  expect(said(-1)?.join("\n")).toContain("The market is red.");
  expect(said(-1)?.at(-1)).toContain("Compare it.");
  const team = await first.restart();
  const before = alice.requests.at(-1)?.history.length;
  await team.agent.start("recovered");
  await team.until(() => alice.requests.length > 3);
  // The same words, whole: what she had said in the first stage too.
  expect(alice.requests.at(-1)?.history.length).toBe(before);
  await team.runtime.close();
});

// Stages

test("a stage may be named when the one before it ends, and a contract may bound how many there are", async () => {
  await using team = await startTeam({
    goal: "Stages",
    coordinator: script(
      made("One"),
      call("reconvene", { assessment: "Good.", next: "Synthesis", contract: { max_stages: 2 } }).after(
        "node-1 completed",
      ),
      made("Two"),
      call("reconvene", { assessment: "Better.", next: "Polish" }).after("node-2 completed"),
      call("reconvene", { assessment: "Best." }).after("All 2 stages are used. Finish with what there is."),
      made("Three"),
      call("finish", { summary: "done" }).after("Not created: All 2 stages are used. Finish with what there is."),
    ),
    workers: { Alice: script(...["a", "b"].flatMap((name) => [written(`${name}.md`), published(name)])) },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(team.agent.now.stages.map(({ name, nodes }) => [name, nodes])).toEqual([
    ["Stage 1", ["node-1"]],
    ["Synthesis", ["node-2"]],
  ]);
});

test("under any, neither a failure nor a part of somebody's node is a result: only a completed node ends the others", async () => {
  const parted = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Race",
    config: { contract: { checkpoint_policy: "any" } },
    coordinator: script(
      hired("Alice", "Bob", "Carol", "Dave"),
      both(...["Alice", "Bob", "Carol"].map((worker) => made(`${worker}'s try`, { worker }))),
      call("finish", { summary: "Bob's" }).after(
        "node-1 failed: No.",
        "node-2 completed by Bob",
        "Stage 1 is done. No longer needed, so cancelled: node-3.",
      ),
    ),
    workers: {
      Alice: script(call("give_up", { reason: "No." }).until(parted.promise)),
      Bob: script(
        made("A part", { worker: "Dave" }),
        written("b.md").after("node-4 completed").until(parted.promise),
        published("b"),
      ),
      Carol: script(hang()),
      Dave: script(written("d.md"), published("d")),
    },
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "node.completed" && fact.data.node_id === "node-4") parted.resolve();
  });
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "Bob's" });
  expect(team.board().map(({ id, status }) => `${id} ${status}`)).toEqual([
    "node-1 failed",
    "node-2 completed",
    "node-3 cancelled",
    "node-4 completed",
  ]);
  const [lost] = (await team.facts()).flatMap((fact) => (fact.type === "node.cancelled" ? [fact.data] : []));
  expect(lost).toEqual({ node_id: "node-3", by: "agiraph", reason: "The contract of its stage is met without it." });
});

test("who lost is cancelled once with all below it, and each worker is told once", async () => {
  const begun = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Race",
    config: { contract: { checkpoint_policy: "any" } },
    coordinator: script(
      hired("Alice", "Bob", "Carol"),
      both(made("Try", { worker: "Alice" }), made("Try too", { worker: "Carol" })),
      call("finish", { summary: "Carol's" }).after("node-2 completed by Carol"),
    ),
    workers: {
      Alice: script(made("A part", { worker: "Bob" }), hang()),
      Bob: script(hang()),
      Carol: script(written("c.md").until(begun.promise), published("c")),
    },
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "node.started" && fact.data.node_id === "node-3") begun.resolve();
  });
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "Carol's" });
  const facts = await team.facts();
  const cancelled = facts.flatMap((fact) => (fact.type === "node.cancelled" ? [fact.data.node_id] : []));
  // Each when its worker has stopped: which of the two is first is not promised.
  expect(cancelled.sort()).toEqual(["node-1", "node-3"]);
  for (const worker of ["alice", "bob"]) {
    expect(facts.filter((fact) => fact.type === "worker.idle" && fact.data.worker_id === worker)).toHaveLength(1);
    const said = JSON.stringify(await team.conversation(`runs/run-1/workers/${worker}/conversation.jsonl`));
    expect(said.split("was cancelled by agiraph").length - 1).toBe(1);
  }
});
