import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Situation } from "../../src/projections/index.ts";
import { call, manualClock, say, script, startTeam } from "../../src/testing/index.ts";

const HOUR = 3_600_000;
const finish = call("finish", { summary: "done" });
const wake = (type: string, config: object, action: unknown) => call("schedule", { type, config, action });

describe("a trigger", () => {
  test("wakes an agent that has finished, with its task as the next goal, once", async () => {
    const clock = manualClock();
    const coordinator = script(
      wake("delayed", { delay_seconds: 3600 }, "Look at the build."),
      finish.after("Scheduled trigger-1"),
      call("finish", { summary: "looked" }).after("Look at the build."),
    );
    await using team = await startTeam({ goal: "Go", clock, coordinator });
    await team.agent.idle();
    const file = await readFile(join(team.agent.log.dir, "triggers.json"), "utf8");
    expect(JSON.parse(file)).toMatchObject([{ id: "trigger-1", type: "delayed", status: "active" }]);
    await clock.advance(HOUR);
    await team.until(({ agent }) => agent.runs === 2 && agent.status === "completed");
    await clock.advance(100 * HOUR);
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "looked" });
    expect(team.agent.now.agent.run).toMatchObject({ id: "run-2", goal: "Look at the build." });
    expect(team.agent.now.triggers.undone).toEqual({});
  });

  test("leaves an archived agent alone, and comes once it is restored", async () => {
    const clock = manualClock();
    const coordinator = script(
      wake("delayed", { delay_seconds: 3600 }, "Look at the build."),
      finish.after("Scheduled trigger-1"),
      call("finish", { summary: "looked" }).after("Look at the build."),
    );
    await using team = await startTeam({ goal: "Go", clock, coordinator });
    await team.agent.idle();
    await team.agent.archive("human");
    const before = team.agent.log.seq;
    await clock.advance(100 * HOUR);
    expect(team.agent.log.seq).toBe(before);
    await team.agent.restore("human");
    await team.until(({ agent }) => agent.runs === 2 && agent.status === "completed");
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "looked" });
  });

  test("tells an agent at work, between its turns", async () => {
    const clock = manualClock();
    await using team = await startTeam({
      goal: "Go",
      clock,
      coordinator: script(
        wake("delayed", { delay_seconds: 60 }, "Time is up."),
        call("create_work_node", { task: "Think" }),
        finish.after("[trigger-1 is due]: Time is up.", "node-1 completed"),
      ),
      workers: {
        Alice: script(
          call("check_messages", { wait: true }),
          call("write_file", { path: "scratch/a.md", content: "…" }).after("Come in."),
          call("publish", { summary: "thought" }),
        ),
      },
    });
    await team.until(({ roster }) => roster.alice?.status === "waiting" && roster.coordinator?.status === "waiting");
    await clock.advance(60_000);
    await team.until(({ letters }) => letters.settled.some(({ id }) => id.startsWith("trigger-1@")));
    await team.agent.send("Come in.", "Alice");
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  });

  test("writes to the human, also when the run has ended", async () => {
    const clock = manualClock();
    const message = { type: "send_message", payload: { to: "Human", content: "The build should be done." } };
    await using team = await startTeam({
      goal: "Go",
      clock,
      coordinator: script(wake("delayed", { delay_seconds: 1800 }, message), finish),
    });
    await team.agent.idle();
    await clock.advance(1_800_000);
    await team.until(({ thread }) => thread.at(-1)?.text === "The build should be done.");
    expect(team.agent.now.thread.at(-1)).toMatchObject({ from: "coordinator", to: "human" });
    expect(team.agent.now.agent.runs).toBe(1);
  });

  test("runs a node that is held when the node it watches completes: nobody begins it before", async () => {
    const run = { type: "run_node", payload: { node_id: "node-2" } };
    const write = call("write_file", { path: "scratch/a.md", content: "…" });
    await using team = await startTeam({
      goal: "Go",
      coordinator: script(
        call("create_work_node", { task: "Base" }),
        call("create_work_node", { task: "Synthesis", hold: true }),
        wake("on_event", { event_pattern: "node.completed", filter: { node_id: "node-1" } }, run),
        finish.after("node-2 completed"),
      ),
      workers: {
        Alice: script(
          write.after("Begin with it, Alice."),
          call("publish", { summary: "base" }),
          write.after("Synthesis"),
          call("publish", { summary: "sum" }),
        ),
      },
    });
    await team.until(({ triggers }) => triggers.made === 1);
    expect(team.board().map(({ status, held }) => [status, held])).toEqual([
      [expect.stringMatching(/assigned|running/), undefined],
      ["pending", true],
    ]);
    await team.agent.send("Begin with it, Alice.", "Alice");
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  });

  test("calls what the program registered under a name, and nothing else", async () => {
    const clock = manualClock();
    const called: unknown[] = [];
    const callback = (name: string) => ({ type: "run_callback", payload: { name, args: { deep: true } } });
    await using team = await startTeam({
      goal: "Go",
      clock,
      callbacks: { backup: async (args) => void called.push(args) },
      coordinator: script(
        wake("delayed", { delay_seconds: 60 }, callback("rm -rf")),
        wake("delayed", { delay_seconds: 60 }, callback("backup")).after("Not scheduled"),
        finish,
      ),
    });
    await team.agent.idle();
    await clock.advance(60_000);
    await team.until(({ triggers }) => triggers.settled.length === 1 && Object.keys(triggers.undone).length === 0);
    expect(called).toEqual([{ deep: true }]);
  });

  test("is not set off by the end of the run that it began, but by the next one's", async () => {
    const clock = manualClock();
    const coordinator = script(
      wake("on_event", { event_pattern: "agent.completed" }, "What is next?"),
      finish,
      call("finish", { summary: "nothing" }).after("What is next?"),
      call("finish", { summary: "that" }).after("And now?"),
      call("finish", { summary: "still nothing" }),
    );
    await using team = await startTeam({ goal: "Go", clock, coordinator });
    await team.until(({ agent }) => agent.runs === 2 && agent.status === "completed");
    const { triggers } = team.agent.now;
    expect([triggers.open["trigger-1"]?.fired, triggers.matches["trigger-1"]?.waiting]).toEqual([1, []]);
    await team.agent.send("And now?");
    await team.until(({ agent }) => agent.runs === 4 && agent.status === "completed");
    expect(await team.outcome()).toEqual({ kind: "finished", summary: "still nothing" });
  });

  test("is not set off by the turns of whom it wakes", async () => {
    const clock = manualClock();
    const coordinator = script(
      wake("on_event", { event_pattern: "model.responded" }, "Was that all?"),
      call("create_work_node", { task: "Think" }),
      call("list_files", {}).after("[trigger-1 is due]: Was that all?"),
      finish.after("node-1 completed"),
    );
    const write = call("write_file", { path: "scratch/a.md", content: "…" });
    const alice = script(write, call("publish", { summary: "thought" }));
    await using team = await startTeam({ goal: "Go", clock, coordinator, workers: { Alice: alice } });
    await team.agent.idle();
    const causes = (await team.facts()).flatMap((fact) => (fact.type === "trigger.fired" ? [fact.data.cause] : []));
    const turns = (await team.facts()).filter((fact) => fact.type === "model.responded");
    const hers = turns.filter(({ data }) => data.worker_id === "alice").map(({ seq }) => seq);
    expect(causes).toEqual(hers);
  });

  test("that is due again before anybody heard of it is said once: its words do not pile up", async () => {
    const clock = manualClock();
    const thinking = Promise.withResolvers<void>();
    const coordinator = script(
      wake("scheduled", { cron: "* * * * *" }, "Look."),
      call("list_files", {}).until(thinking.promise),
      call("cancel_trigger", { trigger_id: "trigger-1" }).after("[trigger-1 is due]: Look."),
      finish,
    );
    await using team = await startTeam({ goal: "Go", clock, coordinator });
    await team.until(() => coordinator.requests.length === 2);
    for (let minute = 1; minute <= 5; minute++) {
      await clock.advance(60_000);
      const isDone = ({ triggers }: Situation) => Object.keys(triggers.undone).length === 0;
      await team.until((now) => now.triggers.open["trigger-1"]?.fired === minute && isDone(now));
    }
    thinking.resolve();
    await team.outcome();
    expect(team.agent.now.letters.settled.map(({ id }) => id.slice(0, 9))).toEqual(["trigger-1"]);
    const problems = (await team.facts()).flatMap((fact) => (fact.type === "trigger.done" ? [fact.data.problem] : []));
    expect(problems).toEqual([
      undefined,
      ...Array(4).fill("Its last message has not been read yet, so it sent no other."),
    ]);
  });

  test("that was missed while the process was away happens when it is back", async () => {
    const clock = manualClock();
    const plan = {
      goal: "Go",
      clock,
      coordinator: script(
        wake("scheduled", { cron: "0 9 * * *" }, "Good morning."),
        finish,
        finish.after("Good morning."),
      ),
    };
    await using team = await startTeam(plan);
    await team.agent.idle();
    const away = team.restart();
    await clock.advance(3 * 24 * HOUR);
    await using later = await away;
    later.agent.keepTime();
    await later.until(({ agent }) => agent.runs === 2 && agent.status === "completed");
    expect(Object.values(later.agent.now.triggers.open)).toMatchObject([{ fired: 1 }]);
  });
});

const isResting = (roster: Situation["roster"]) => roster.coordinator?.status === "waiting";

describe("a heartbeat", () => {
  test("with nothing new calls no model in 24 hours", async () => {
    const clock = manualClock();
    const coordinator = script(wake("heartbeat", { interval_seconds: 30 }, "Anything?"), finish);
    await using team = await startTeam({ goal: "Go", clock, coordinator });
    await team.agent.idle();
    const { calls } = team.agent.now.spending.total;
    const { seq } = team.agent.now;
    await clock.advance(24 * HOUR);
    expect([team.agent.now.spending.total.calls - calls, team.agent.now.seq - seq]).toEqual([0, 0]);
  });

  test("that finds nothing to do leaves no trace in what the model is shown, nor among the messages", async () => {
    const clock = manualClock();
    const coordinator = script(
      wake("heartbeat", { interval_seconds: 30 }, "Anything new?"),
      call("create_work_node", { task: "Think" }),
      say("HEARTBEAT_OK").after("[trigger-1 is due]: Anything new?"),
      finish.after("node-1 completed"),
    );
    const write = call("write_file", { path: "scratch/a.md", content: "…" });
    // What ends below Alice is her news, not the coordinator's.
    const alice = script(
      call("create_work_node", { task: "A part" }),
      call("check_messages", { wait: true }).after("node-2 completed"),
      write.after("go on"),
      call("publish", { summary: "thought" }),
    );
    await using team = await startTeam({
      goal: "Go",
      clock,
      coordinator,
      workers: {
        Alice: alice,
        Bob: script(write, call("publish", { summary: "part" })),
      },
    });
    const isDone = ({ board, roster }: Situation) => board.nodes["node-2"]?.status === "completed" && isResting(roster);
    await team.until((now) => isDone(now) && now.roster.alice?.status === "waiting" && alice.played === 2);
    await clock.advance(60_000);
    const beat = (content: string) => content.includes("Anything new?");
    const shown = () =>
      coordinator.requests.at(-1)?.history.some((entry) => entry.role === "user" && beat(entry.content));
    await team.until(({ roster }) => coordinator.played === 3 && isResting(roster));
    expect(shown()).toBe(true);
    await team.agent.send("go on", "Alice");
    await team.agent.idle();
    expect(team.agent.now.thread.map(({ text }) => text)).not.toContain("HEARTBEAT_OK");
    expect(shown()).toBe(false);
  });
});
