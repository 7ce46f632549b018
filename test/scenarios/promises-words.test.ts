import { expect, test } from "vitest";
import { both, call, say, script, startTeam } from "../../src/testing/index.ts";
import { assigned, BIRTH, begun, created, saying, spawned, takenUp } from "./taken-up.ts";

/** What is said to whom, and what is kept of it. */

test("what somebody remembers stands in their prompt", async () => {
  const coordinator = script(call("finish", { summary: "done" }));
  await using alone = await takenUp({ files: { "MEMORY.md": "Chips get hot." }, minds: { coordinator } });
  await alone.start();
  await alone.agent.idle();
  expect(coordinator.requests[0]?.system).toContain("# Your memory\n\n## MEMORY.md\n\nChips get hot.");

  const alice = script(call("publish", { summary: "80" }));
  const own = "runs/run-1/workers/alice";
  await using team = await takenUp({
    facts: [created("node-1"), spawned("alice"), ...assigned("node-1", "alice")],
    conversations: { "conversation.jsonl": [...begun(BIRTH), saying("I wait.")] },
    files: {
      [`${own}/memory.md`]: "Chip A is slow.",
      [`${own}/notebook.md`]: "Use the fan.",
      "runs/run-1/nodes/node-1/scratch/a.md": "80",
    },
    minds: { coordinator: script(call("finish", { summary: "done" }).after("node-1 completed")), alice },
  });
  await team.start();
  await team.agent.idle();
  expect(alice.requests[0]?.system).toContain("# Your memory (from past work)\n\nChip A is slow.");
  expect(alice.requests[0]?.system).toContain("# Your notebook\n\nUse the fan.");
});

test("the first words of a run and of an assignment say whose they are and up to which fact they tell", async () => {
  await using team = await startTeam({
    goal: "Go",
    coordinator: script(
      call("create_work_node", { task: "One", inference: "single" }),
      call("finish", { summary: "done" }).after("node-1 completed"),
    ),
    workers: { Alice: script(say("Blue")) },
  });
  await team.outcome();
  const first = async (file?: string) => (await team.conversation(file)).slice(0, 2);
  const place = { seq: 2, ts: expect.any(Number), run_id: "run-1", upto: expect.any(Number) };
  const system = { seq: 1, ts: expect.any(Number), role: "system", content: expect.any(String) };
  expect([await first(), await first("runs/run-1/workers/alice/conversation.jsonl")]).toEqual([
    [system, { ...place, role: "user", from: "human", content: "Go" }],
    [system, { ...place, role: "user", from: "coordinator", content: "One", node_id: "node-1" }],
  ]);
});

test("news that came while the coordinator thought is what it hears next, not a question about its reply without a call", async () => {
  const thinking = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Go",
    coordinator: script(
      say("Hm.").until(thinking.promise),
      call("finish", { summary: "done" }).after("[Message from alice]: look"),
    ),
  });
  const data = { message_id: "m1", from: "alice", to: "coordinator", text: "look", file: "_messages/m1.md", hops: 1 };
  const asked = Promise.withResolvers<void>();
  team.agent.log.subscribe((fact) => fact.type === "model.called" && asked.resolve());
  await asked.promise;
  await team.agent.log.append({ facts: [{ type: "message.sent", data }] }).durable;
  thinking.resolve();
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  const said = (await team.conversation()).flatMap((entry) => (entry.role === "user" ? [entry.content] : []));
  expect(said).toEqual(["Go", "[Message from alice]: look"]);
});

test("work is done when every deliverable is there; one answer is the one file that was asked for, and never two", async () => {
  const missing = "the spec asks for scratch/report.md, which is not there.";
  const write = (path: string) => call("write_file", { path: `scratch/${path}`, content: "80" });
  await using team = await startTeam({
    goal: "Go",
    coordinator: script(
      both(
        call("create_work_node", { task: "One", deliverables: ["report.md"] }),
        call("create_work_node", { task: "Two", deliverables: ["report.md"], inference: "single" }),
        call("create_work_node", { task: "Three", deliverables: ["a.md", "b.md"], inference: "single" }),
      ),
      call("finish", { summary: "done" }).after(
        "node-1 completed",
        "node-2 completed",
        "Not created: one reply makes one file, and there are 2 deliverables.",
      ),
    ),
    workers: {
      Alice: script(
        write("notes.md"),
        call("publish", { summary: "80" }),
        write("report.md").after(`Not published: ${missing}`),
        call("publish", { summary: "80" }),
      ),
      Bob: script(say("It is 80.")),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
});
