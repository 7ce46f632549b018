import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { inboxOf } from "../../src/runtime/human/inbox.ts";
import { both, call, manualClock, script, startTeam, type TestTeam } from "../../src/testing/index.ts";
import { scriptedPrograms } from "../../src/testing/scripted-program.ts";

/** What somebody hears who waits for colleagues, and what happens where everybody waits. */

const wrote = (path: string) => call("write_file", { path: `scratch/${path}`, content: path });
const published = (summary: string) => call("publish", { summary });
const waits = () => call("check_messages", { wait: true });
const role = (name: string, prompt = "Do your part.") => ({ name, title: "Analyst", prompt });
const launched = (...names: string[]) => call("launch_roles", { name: "Work", roles: names.map((name) => role(name)) });

/** What a worker was told on its node, after its task. */
async function toldTo(team: TestTeam, worker: string): Promise<string[]> {
  const entries = await team.conversation(`runs/run-1/workers/${worker}/conversation.jsonl`);
  return entries.flatMap((entry) => (entry.role === "user" && !entry.node_id ? [entry.content] : []));
}

test("who waits hears that a colleague has published, with path and summary, as the coordinator does", async () => {
  const bobWaits = Promise.withResolvers<void>();
  const bob = script(
    waits(),
    call("read_file", { path: "nodes/node-1/published/a.md" }).after("node-1 completed by Alice: a is 80"),
    both(wrote("b.md"), published("b")).after("1\ta.md"),
  );
  await using team = await startTeam({
    goal: "Two parts",
    coordinator: script(
      both(launched("Alice", "Bob"), call("check_messages", { wait: true, all: true })),
      call("finish", { summary: "both" }).after("node-1 completed by Alice", "node-2 completed by Bob"),
    ),
    workers: { Alice: script(both(wrote("a.md"), published("a is 80")).until(bobWaits.promise)), Bob: bob },
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "worker.waiting" && fact.data.worker_id === "bob") bobWaits.resolve();
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "both" });
  expect(await toldTo(team, "bob")).toEqual([
    "node-1 completed by Alice: a is 80\nPublished: nodes/node-1/published/a.md",
  ]);
  expect(bob.requests).toHaveLength(3);
});

test("what ended before somebody waits is told when they wait, once, and never to those who work", async () => {
  const aliceIsDone = Promise.withResolvers<void>();
  const bobWaits = Promise.withResolvers<void>();
  const bobIsDone = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Three parts",
    coordinator: script(
      launched("Alice", "Bob", "Carol"),
      call("send_message", { to: "Bob", content: "Mind the units." }).after("node-1 failed: No data"),
      call("finish", { summary: "all" }).after("node-2 completed", "node-3 completed"),
    ),
    workers: {
      Alice: script(call("give_up", { reason: "No data" })),
      Bob: script(
        wrote("b.md").until(aliceIsDone.promise),
        wrote("c.md").after("Mind the units."),
        waits(),
        waits().after("node-1 failed: No data"),
        published("b").after("[Message from Carol]: Mine is ready."),
      ),
      Carol: script(
        call("send_message", { to: "Bob", content: "Mine is ready." }).until(bobWaits.promise),
        both(wrote("d.md"), published("c")).until(bobIsDone.promise),
      ),
    },
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "node.failed") aliceIsDone.resolve();
    if (fact.type === "worker.waiting" && fact.data.worker_id === "bob") bobWaits.resolve();
    if (fact.type === "node.completed" && fact.data.worker_id === "bob") bobIsDone.resolve();
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "all" });
  expect(await toldTo(team, "bob")).toEqual([
    "[Message from Coordinator]: Mind the units.",
    "node-1 failed: No data.",
    "[Message from Carol]: Mine is ready.",
  ]);
});

test("everybody waits for everybody: the coordinator is told once who waits since when, and moves them", async () => {
  const rest = () => call("check_messages", { wait: true, all: true });
  const coordinator = script(
    both(launched("Alice", "Bob"), rest()),
    both(call("send_message", { to: "Alice", content: "Publish what you have." }), rest()).after(
      "[Agiraph]: Everybody waits, and nothing comes by itself until their time is up and their nodes fail:\n- Alice on node-1 waits for a message",
      "- Bob on node-2 waits for a message",
    ),
    call("finish", { summary: "both" }).after("node-1 completed", "node-2 completed"),
  );
  await using team = await startTeam({
    goal: "Two parts",
    coordinator,
    workers: {
      Alice: script(waits(), both(wrote("a.md"), published("a")).after("Publish what you have.")),
      Bob: script(waits(), both(wrote("b.md"), published("b")).after("node-1 completed by Alice: a")),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "both" });
  expect(coordinator.requests).toHaveLength(3);
  const [told, ...more] = (await team.facts()).flatMap((fact) =>
    fact.type === "message.sent" && fact.data.deadlock ? [fact.data] : [],
  );
  expect([told?.from, told?.to, told?.deadlock, more]).toEqual(["agiraph", "coordinator", ["node-1", "node-2"], []]);
  expect(told?.text).toMatch(/- Alice on node-1 waits for a message or a colleague's result, since \w+day, 20/);
});

test("a worker that waits on purpose for the person's word: the coordinator is told once, the person sees it, and nobody goes in circles", async () => {
  const coordinator = script(
    both(launched("Alice"), waits()),
    waits().after("[Agiraph]: Everybody waits"),
    call("finish", { summary: "said" }).after("node-1 completed by Alice: twice"),
  );
  const alice = script(
    waits(),
    waits().after("[Message from your human]: One."),
    both(wrote("a.md"), published("twice")).after("[Message from your human]: Two."),
  );
  await using team = await startTeam({ goal: "Take down what I say", coordinator, workers: { Alice: alice } });
  const isShown = () => team.until(({ letters }) => letters.deadlock?.told_human !== undefined);
  const inbox = () => inboxOf([team.agent.now]);
  await isShown();
  expect(inbox()).toEqual([
    expect.objectContaining({
      kind: "approval",
      from: { id: "coordinator", name: "Coordinator" },
      text: expect.stringContaining(
        "Everybody waits, and nothing comes by itself until their time is up and their nodes fail:\n- Alice on node-1 waits for",
      ),
      deadlock: ["node-1"],
    }),
  ]);
  // That it was seen does not end it; that Alice is spoken to does.
  await team.agent.seen({ from: "coordinator" });
  expect(inbox()).toHaveLength(1);
  await team.agent.send("One.", "Alice");
  await team.until(({ letters }) => letters.deadlock?.told_human === undefined);
  expect(inbox()).toEqual([]);
  // She waits for the next word: the person is told again, the coordinator is not.
  await isShown();
  expect([coordinator.requests.length, alice.requests.length]).toEqual([2, 2]);
  await team.agent.send("Two.", "Alice");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "said" });
  expect([coordinator.requests.length, alice.requests.length]).toEqual([3, 3]);
  const told = (await team.facts()).flatMap((fact) =>
    fact.type === "message.sent" && fact.data.deadlock ? [fact.data.to] : [],
  );
  expect(told).toEqual(["coordinator", "human", "human"]);
});

test("a restart repeats neither what the coordinator nor what the person was told, nor what a colleague ended", async () => {
  const coordinator = script(
    both(launched("Alice", "Bob"), waits()),
    waits().after("node-1 completed"),
    waits().after("[Agiraph]: Everybody waits"),
    call("finish", { summary: "all" }).after("node-2 completed"),
  );
  const bob = script(
    waits(),
    waits().after("node-1 completed by Alice: a"),
    both(wrote("b.md"), published("b")).after("[Message from your human]: Go on."),
  );
  await using before = await startTeam({
    goal: "Two parts",
    coordinator,
    workers: { Alice: script(both(wrote("a.md"), published("a"))), Bob: bob },
  });
  await before.until(({ letters }) => letters.deadlock?.told_human !== undefined);
  const team = await before.restart();
  await team.agent.start("recovered");
  await team.until(({ roster }) => roster.bob?.status === "waiting" && roster.coordinator?.status === "waiting");
  // What would be repeated now is on disk by then.
  await new Promise(setImmediate);
  await team.agent.log.drained();
  await team.agent.send("Go on.", "Bob");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "all" });
  const told = (await team.facts()).flatMap((fact) =>
    fact.type === "message.sent" && fact.data.deadlock ? [fact.data.to] : [],
  );
  expect(told).toEqual(["coordinator", "human"]);
  expect((await toldTo(team, "bob")).filter((words) => words.includes("node-1 completed"))).toHaveLength(1);
});

test("a program that waits hears the same when its turn is over", async () => {
  const heard: string[] = [];
  const outside = scriptedPrograms(async (program) => {
    program.emit({ kind: "begun", session_id: "s-1" });
    await program.use("check_messages", { wait: true });
    program.emit({ kind: "rested", how: "done", words: "I wait." });
    heard.push(await program.hear());
    await writeFile(`${program.setup.cwd}/b.md`, "b");
    await program.use("publish", { summary: "b" });
  });
  const claraWaits = Promise.withResolvers<void>();
  await using team = await startTeam({
    goal: "Two parts",
    coordinator: script(
      call("launch_roles", { name: "Work", roles: [role("Alice"), { ...role("Clara"), program: "scripted" }] }),
      call("finish", { summary: "both" }).after("node-1 completed", "node-2 completed"),
    ),
    workers: { Alice: script(both(wrote("a.md"), published("a")).until(claraWaits.promise)) },
    outside,
  });
  team.agent.log.subscribe((fact) => {
    if (fact.type === "worker.waiting" && fact.data.worker_id === "clara") claraWaits.resolve();
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "both" });
  expect(heard).toEqual(["node-1 completed by Alice: a\nPublished: nodes/node-1/published/a.md"]);
});

test("who begins late hears what was launched with them and has ended; who works below somebody hears those beside them", async () => {
  const bob = script(waits(), both(wrote("b.md"), published("b")).after("node-1 completed by Alice: a"));
  const made = (task: string, worker: string) => call("create_work_node", { task, worker });
  await using team = await startTeam({
    goal: "One after the other",
    config: { max_concurrent: 1 },
    coordinator: script(
      launched("Alice", "Bob"),
      call("finish", { summary: "all" }).after("node-1 completed", "node-2 completed"),
    ),
    workers: {
      Alice: script(
        both(made("Part one", "Carol"), made("Part two", "Dave"), wrote("a.md")),
        published("a").after("node-3 completed by Carol: c", "node-4 completed by Dave: d"),
      ),
      Bob: bob,
      Carol: script(both(wrote("c.md"), published("c"))),
      Dave: script(waits(), both(wrote("d.md"), published("d")).after("node-3 completed by Carol: c")),
    },
  });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "all" });
  expect(await toldTo(team, "bob")).toEqual([expect.stringMatching(/^node-1 completed by Alice: a\n[^\n]*$/)]);
  expect(await toldTo(team, "dave")).toEqual([expect.stringMatching(/^node-3 completed by Carol: c\n[^\n]*$/)]);
});

test("while an alarm of the team may still ring nobody is told; when it is cancelled, the coordinator is", async () => {
  const coordinator = script(
    both(launched("Alice"), waits()),
    call("cancel_node", { node_id: "node-1", reason: "She waits for nothing." }).after("[Agiraph]: Everybody waits"),
    call("finish", { summary: "cancelled" }),
  );
  const alarm = { type: "delayed", config: { delay_seconds: 3600 }, action: "It is time." };
  await using team = await startTeam({
    goal: "Wait for the hour",
    clock: manualClock(),
    coordinator,
    workers: { Alice: script(call("schedule", alarm), waits()) },
  });
  await team.until(({ roster }) => roster.alice?.status === "waiting" && roster.coordinator?.status === "waiting");
  await new Promise(setImmediate);
  await team.agent.log.drained();
  expect(team.agent.now.letters.deadlock).toBe(undefined);
  await team.agent.schedule.cancel("human", "trigger-1");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "cancelled" });
});
