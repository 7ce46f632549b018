import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { call, script, startTeam } from "../../src/testing/index.ts";

test("what a worker discovers becomes new work, and the run waits for it", async () => {
  await using team = await startTeam({
    goal: "Which chip is faster?",
    config: { max_concurrent: 1 },
    coordinator: script(
      call("create_work_node", { task: "Measure chip A" }),
      call("create_work_node", { task: "Measure chip B" }).after("Alice suggests: measure chip B too"),
      call("finish", { summary: "B is faster" }).after("node-1 completed", "node-2 completed"),
    ),
    workers: {
      Alice: script(
        call("suggest_next", { suggestion: "measure chip B too" }),
        call("write_file", { path: "scratch/a.md", content: "80" }),
        call("publish", { summary: "A: 80", learned: "Chips are fast." }),
        call("write_file", { path: "scratch/b.md", content: "95" }),
        call("publish", { summary: "B: 95" }),
      ),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "B is faster" });
  expect(team.board().map((node) => [node.spec.task, node.status, "summary" in node && node.summary])).toEqual([
    ["Measure chip A", "completed", "A: 80"],
    ["Measure chip B", "completed", "B: 95"],
  ]);
  const memory = await readFile(join(team.agent.log.dir, "runs/run-1/workers/alice/memory.md"), "utf8");
  expect(memory).toBe("## node-1: Measure chip A\n\nChips are fast.\n");
  const history = await readFile(join(team.agent.log.dir, "runs/run-1/workers/alice/history.json"), "utf8");
  expect(JSON.parse(history)).toEqual([
    { node_id: "node-1", task: "Measure chip A", summary: "A: 80" },
    { node_id: "node-2", task: "Measure chip B", summary: "B: 95" },
  ]);
});

test("a worker hands parts of its node to others, waits for them at no cost, and builds on what they publish", async () => {
  await using team = await startTeam({
    goal: "Build it",
    config: { max_concurrent: 1 },
    coordinator: script(
      call("create_work_node", { task: "The whole" }),
      call("finish", { summary: "built" }).after("node-1 completed by Alice: whole"),
    ),
    workers: {
      Alice: script(
        call("create_work_node", { task: "A part", deliverables: ["part.md"] }),
        call("read_file", { path: "nodes/node-2/published/part.md" }).after("node-2 completed by Bob"),
        call("write_file", { path: "scratch/whole.md", content: "whole" }).after("a part"),
        call("publish", { summary: "whole" }),
      ),
      Bob: script(
        call("write_file", { path: "scratch/part.md", content: "a part" }),
        call("publish", { summary: "part" }),
      ),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "built" });
  expect(team.board().map((node) => [node.id, node.spec.parent_node_id, node.children, node.status])).toEqual([
    ["node-1", null, ["node-2"], "completed"],
    ["node-2", "node-1", [], "completed"],
  ]);
});

test("messages go by name, are kept as files and are seen once; one to somebody who has finished reaches the coordinator", async () => {
  await using team = await startTeam({
    goal: "Talk",
    coordinator: script(
      call("launch_roles", {
        name: "Work",
        roles: [
          { name: "Alice", title: "Coder", prompt: "Code" },
          { name: "Bob", title: "Tester", prompt: "Test" },
        ],
      }),
      call("finish", { summary: "talked" }).after(
        "node-1 completed",
        "node-2 completed",
        "[Message from Bob for Alice, who has no work now]: late",
      ),
    ),
    workers: {
      Alice: script(
        call("send_message", { to: "Bob", content: "module is done" }).after("Code"),
        call("check_messages", { wait: true }),
        call("write_file", { path: "scratch/a.md", content: "a" }).after("[Message from Bob]: found a bug"),
        call("publish", { summary: "code" }),
      ),
      Bob: script(
        call("check_messages", { wait: true }),
        call("send_message", { to: "alice", content: "found a bug" }).after("[Message from Alice]: module is done"),
        call("check_messages", { wait: false }).after("Sent to alice"),
        call("write_file", { path: "scratch/b.md", content: "b" }),
        call("send_message", { to: "Alice", content: "late" }).until(aliceIsIdle()),
        call("publish", { summary: "tests" }),
      ),
    },
  });
  team.agent.log.subscribe((fact) => fact.type === "worker.idle" && fact.data.worker_id === "alice" && idle.resolve());
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "talked" });
  expect(await readdir(join(team.agent.log.dir, "runs/run-1/_messages"))).toEqual([
    "0001_alice_to_bob.md",
    "0002_bob_to_alice.md",
    "0003_bob_to_alice.md",
  ]);
  expect(team.agent.now.letters.settled.map((letter) => [letter.from, letter.reader, letter.status])).toEqual([
    ["alice", "bob", "seen"],
    ["bob", "alice", "seen"],
    ["bob", "coordinator", "seen"],
  ]);
});

const idle = Promise.withResolvers<void>();
function aliceIsIdle(): Promise<void> {
  return idle.promise;
}
