import { expect, test } from "vitest";
import type { Fact } from "../../src/protocol/index.ts";
import { call, fail, say, script, startTeam, type TestTeam } from "../../src/testing/index.ts";

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
