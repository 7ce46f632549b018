import { expect, test } from "vitest";
import { call, manualClock, say, script, startTeam } from "../../src/testing/index.ts";

test("a heartbeat fires for a worker who shows no progress, once, and says who and for how long", async () => {
  const clock = manualClock();
  const stuck = Promise.withResolvers<void>();
  const coordinator = script(
    call("schedule", { type: "heartbeat", config: { interval_seconds: 300 }, action: "Anyone stuck?" }),
    call("create_work_node", { task: "Measure" }),
    say("I wait."),
    say("I will give it some time.").after("Alice on node-1 has shown no progress for 15 minutes."),
    call("finish", { summary: "80" }).after("node-1 completed by Alice"),
  );
  const alice = script(
    call("write_file", { path: "scratch/a.md", content: "80" }).until(stuck.promise),
    call("publish", { summary: "80" }),
  );
  await using team = await startTeam({ goal: "Measure it", clock, coordinator, workers: { Alice: alice } });
  const waits = (played: number) =>
    team.until(({ roster }) => coordinator.played === played && roster.coordinator?.status === "waiting");
  await waits(3);
  await team.until(() => alice.requests.length === 1);
  await clock.advance(600_000); // not long enough
  expect(team.agent.now.triggers.open["trigger-1"]?.fired).toBe(0);
  await clock.advance(300_000);
  await waits(4);
  await clock.advance(600_000);
  expect(team.agent.now.triggers.open["trigger-1"]?.fired).toBe(1);
  stuck.resolve();
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "80" });
});

test("a worker sets a trigger, is told when it is due, and cancels only its own", async () => {
  const clock = manualClock();
  const coordinator = script(
    call("schedule", { type: "delayed", config: { delay_seconds: 9000 }, action: "Much later." }),
    call("create_work_node", { task: "Measure" }),
    say("I wait."),
    call("finish", { summary: "80" }).after("node-1 completed by Alice"),
  );
  const alice = script(
    call("schedule", { type: "delayed", config: { delay_seconds: 60 }, action: "Read the meter again." }),
    call("cancel_trigger", { trigger_id: "trigger-1" }),
    call("list_triggers", {}),
    call("check_messages", { wait: true }),
    call("write_file", { path: "scratch/a.md", content: "80" }).after("[trigger-2 is due]: Read the meter again."),
    call("publish", { summary: "80" }),
  );
  await using team = await startTeam({ goal: "Measure it", clock, coordinator, workers: { Alice: alice } });
  await team.until(({ roster }) => alice.played === 4 && roster.alice?.status === "waiting");
  await clock.advance(60_000);
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "80" });
  const said = (await team.conversation("runs/run-1/workers/alice/conversation.jsonl")).filter(
    (entry) => entry.role === "tool",
  );
  expect(said.slice(0, 3).map(({ content }) => content)).toEqual([
    expect.stringContaining("Scheduled trigger-2 [active] delayed by 60 s"),
    "trigger-1 is not yours: you can cancel only your own.",
    expect.stringMatching(/^- trigger-2 [^\n]*$/),
  ]);
  // It is not offered what it would be refused.
  const offered = JSON.stringify(alice.requests[0]?.tools.find(({ name }) => name === "schedule"));
  expect([offered.includes("on_idle"), /heartbeat|on_change|run_node/.test(offered)]).toEqual([true, false]);
});

test("list_triggers of an infinite agent shows its cycle from the first moment on, so that it sets no second one", async () => {
  const clock = manualClock();
  const coordinator = script(
    call("list_triggers", {}),
    call("checkpoint", { summary: "First." }),
    call("list_triggers", {}),
    call("checkpoint", { summary: "Second." }),
    call("list_triggers", {}),
    call("checkpoint", { summary: "Third." }),
  );
  await using team = await startTeam({ goal: "Watch", mode: "infinite", cycle_seconds: 60, clock, coordinator });
  const asleep = (played: number) =>
    team.until(({ roster }) => coordinator.played === played && roster.coordinator?.status === "waiting");
  await asleep(2);
  await team.agent.send("How are you?"); // woken early: the cycle keeps its time
  await asleep(4);
  const lists = (await team.conversation()).filter((entry) => entry.role === "tool" && entry.tool === "list_triggers");
  expect(lists.map(({ content }) => content)).toEqual([
    "- your next cycle: set by itself when this one ends, with the nightly upkeep of your memory",
    expect.stringMatching(
      /^- trigger-1 \[active\] delayed by 60 s, next .*: your next cycle \(set anew after each\)\n- trigger-2 .*memory_upkeep$/,
    ),
  ]);
});
