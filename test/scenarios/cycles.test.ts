import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Situation } from "../../src/projections/index.ts";
import type { Config } from "../../src/protocol/config.ts";
import { both, call, fail, manualClock, say, script, startTeam } from "../../src/testing/index.ts";

const CYCLE_SECONDS = 30;
const isAsleep = (status: string | undefined) => status === "waiting";

test("an infinite agent that has the same to say in every cycle goes on for ever: that is no circle", async () => {
  const clock = manualClock();
  const CYCLES = 10;
  const quiet = Array.from({ length: CYCLES }, () => call("checkpoint", { summary: "Nothing new." }));
  const coordinator = script(...quiet);
  await using team = await startTeam({
    goal: "Watch the page",
    clock,
    mode: "infinite",
    cycle_seconds: CYCLE_SECONDS,
    coordinator,
  });
  for (let cycle = 1; cycle <= CYCLES; cycle++) {
    await team.until(
      ({ roster, agent }) =>
        agent.status !== "working" || (coordinator.played === cycle && isAsleep(roster.coordinator?.status)),
    );
    if (cycle < CYCLES) await clock.advance(CYCLE_SECONDS * 1000);
  }
  expect(team.agent.now.agent.status).toBe("working");
});

test("an infinite agent whose goal is met has no further cycle, and a trigger's task does not become its goal", async () => {
  const clock = manualClock();
  const coordinator = script(
    call("schedule", { type: "delayed", config: { delay_seconds: 600 }, action: "Look once more." }),
    call("checkpoint", { summary: "First look." }),
    call("finish", { summary: "The page is gone for good." }).after("Enough."),
    call("finish", { summary: "still gone" }).after("Look once more."),
  );
  await using team = await startTeam({
    goal: "Watch the page",
    clock,
    mode: "infinite",
    cycle_seconds: CYCLE_SECONDS,
    coordinator,
  });
  await team.until(({ roster }) => coordinator.played === 2 && isAsleep(roster.coordinator?.status));
  await team.agent.send("Enough."); // before the next cycle, which is set already
  await team.agent.idle();
  await clock.advance(10 * CYCLE_SECONDS * 1000);
  expect(team.agent.now.agent).toMatchObject({ runs: 1, status: "completed" });

  await clock.advance(600_000);
  await team.until(({ agent }) => agent.runs === 2 && agent.status === "completed");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "still gone" });
  expect(await readFile(join(team.agent.log.dir, "GOAL.md"), "utf8")).toBe("Watch the page\n");
});

test("a heartbeat in the middle of the work ends nothing: whoever answers it goes on with the goal", async () => {
  const clock = manualClock();
  const beat = Promise.withResolvers<void>();
  const coordinator = script(
    call("schedule", { type: "heartbeat", config: { interval_seconds: 30 }, action: "Anything new?" }),
    call("list_files", {}).until(beat.promise),
    say("HEARTBEAT_OK").after("[trigger-1 is due]: Anything new?"),
    call("finish", { summary: "measured" }).after("nothing is under way"),
  );
  await using team = await startTeam({ goal: "Measure it", clock, coordinator });
  await team.until(({ triggers }) => triggers.made === 1);
  await team.until(() => coordinator.requests.length === 2);
  await team.agent.nudge("Mind the units."); // while it thinks: that is something new
  await clock.advance(60_000);
  await team.until(({ letters }) => letters.sent === 1);
  beat.resolve();
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "measured" });
});

test("upkeep of the memory that somebody cancelled stays cancelled, however many cycles come after it", async () => {
  const clock = manualClock();
  const CYCLES = 105; // more than are kept of those that are over
  const cycles = Array.from({ length: CYCLES }, (_, at) => call("checkpoint", { summary: `Look ${at + 1}.` }));
  const coordinator = script(...cycles);
  await using team = await startTeam({
    goal: "Watch the page",
    clock,
    mode: "infinite",
    cycle_seconds: CYCLE_SECONDS,
    coordinator,
  });
  const callbacks = () =>
    Object.values(team.agent.now.triggers.open).filter(({ action }) => action.type === "run_callback");
  for (let cycle = 1; cycle <= CYCLES; cycle++) {
    await team.until(({ roster }) => coordinator.played === cycle && isAsleep(roster.coordinator?.status));
    if (cycle === 1) for (const { id } of callbacks()) await team.agent.schedule.cancel("human", id);
    if (cycle < CYCLES) await clock.advance(CYCLE_SECONDS * 1000);
  }
  expect(callbacks()).toEqual([]);
});

test("a night is that of the person, as config.json says now: upkeep counts their days", async () => {
  const clock = manualClock(Date.UTC(2026, 2, 2, 10));
  const { promise: moved, resolve: itIs } = Promise.withResolvers<void>();
  const coordinator = script(
    call("checkpoint", { summary: "First look." }).until(moved),
    call("finish", { summary: "distilled" }).after("Upkeep of your memory.", "### 2026-03-01.md"),
  );
  const config: Config = { time_zone: "UTC" };
  await using team = await startTeam({
    ...{ goal: "Watch the page", clock, mode: "infinite", cycle_seconds: 86_400, coordinator, config },
  });
  config.time_zone = "Pacific/Kiritimati"; // 14 hours ahead: the third of March has begun there
  for (const day of ["01", "02", "03"])
    await writeFile(join(team.agent.log.dir, `memory/2026-03-${day}.md`), `## 09:00\n\nDay ${day}.\n`);
  itIs();
  await team.until(({ roster }) => isAsleep(roster.coordinator?.status));
  const daily = { type: "scheduled", config: { cron: "0 9 * * *" }, action: "Look." } as const;
  expect(await team.agent.schedule.create("human", daily)).toContain("Pacific/Kiritimati");
  await clock.advance(4 * 3_600_000);
  await team.agent.idle();
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "distilled" });
});

test("who is killed asleep sleeps on until its time, also when that passed meanwhile; a stop ends the cycles until resume", async () => {
  const clock = manualClock();
  const coordinator = script(
    call("checkpoint", { summary: "First look." }),
    call("checkpoint", { summary: "Second look." }).after("The next cycle begins."),
    call("checkpoint", { summary: "Third look." }),
    // That it goes on and that its cycle was due meanwhile may be told in one turn or in two.
    call("checkpoint", { summary: "Fourth look." }).after("It goes on now.", "[trigger-4 is due]"),
  );
  const plan = { goal: "Watch the page", clock, mode: "infinite", cycle_seconds: CYCLE_SECONDS, coordinator } as const;
  await using team = await startTeam(plan);
  const asleepAfter = (looks: number) => (now: Situation) =>
    coordinator.played === looks && isAsleep(now.roster.coordinator?.status);
  await team.until(asleepAfter(1));
  const again = await team.restart();
  await again.agent.start("recovered");
  await again.until(asleepAfter(1));
  expect(coordinator.requests).toHaveLength(1); // sleeping on costs nothing
  await clock.advance(CYCLE_SECONDS * 1000);
  await again.until(asleepAfter(2));

  const away = again.restart();
  await clock.advance(5 * CYCLE_SECONDS * 1000);
  await using back = await away;
  await back.agent.start("recovered");
  await back.until(asleepAfter(3)); // once, however many passed

  await back.agent.stop("human");
  await clock.advance(5 * CYCLE_SECONDS * 1000);
  expect([coordinator.requests.length, back.agent.now.agent.status]).toEqual([3, "stopped"]);
  await back.agent.start("resumed");
  await back.until(asleepAfter(4));
  expect(back.agent.now.agent.status).toBe("working");
});

test("an infinite agent that failed tries again with its next cycle", async () => {
  const clock = manualClock();
  const coordinator = script(
    fail("auth", { message: "no such key" }),
    call("checkpoint", { summary: "It works again." }).after("The next cycle begins."),
  );
  await using team = await startTeam({
    goal: "Watch the page",
    clock,
    mode: "infinite",
    cycle_seconds: CYCLE_SECONDS,
    coordinator,
  });
  await team.until(({ agent }) => agent.status === "failed");
  await team.agent.idle();
  await clock.advance(CYCLE_SECONDS * 1000);
  await team.until(({ roster }) => coordinator.played === 2 && isAsleep(roster.coordinator?.status));
  expect(team.agent.now.agent).toMatchObject({ status: "working", runs: 1 });
});

test("a checkpoint, finish or publish beside a call that failed is held back: it was written before that was seen", async () => {
  const look = call("read_file", { path: "notes/none.md" });
  const coordinator = script(
    both(look, call("checkpoint", { summary: "Nothing new." })),
    both(look, call("finish", { summary: "All is well." })).after(
      "Not run: read_file, called before it in the same reply, failed; deal with that, then call checkpoint again.",
    ),
    call("finish", { summary: "There is nothing to watch." }).after("then call finish again"),
  );
  await using team = await startTeam({ goal: "Watch it", mode: "infinite", cycle_seconds: 30, coordinator });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "There is nothing to watch." });
  expect((await team.facts()).filter(({ type }) => type === "worker.checkpointed")).toEqual([]);
});
