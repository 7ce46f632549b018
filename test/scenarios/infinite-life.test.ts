import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { both, call, manualClock, say, script, startTeam, type TestTeam } from "../../src/testing/index.ts";
import type { ScriptedModel } from "../../src/testing/script.ts";
import { skipped } from "../try-sandbox.ts";

const DAY = 86_400;
const plan = { goal: "Watch the page", mode: "infinite", cycle_seconds: DAY } as const;
const isAsleep = (team: TestTeam, coordinator: ScriptedModel, played: number) =>
  team.until(
    ({ roster, agent }) =>
      agent.status === "failed" || (coordinator.played === played && roster.coordinator?.status === "waiting"),
  );
/** What was said last in a request. */
const lastWords = ({ requests }: ScriptedModel, at = -1) => `${requests.at(at)?.history.at(-1)?.content}`;

test("the same look at an unchanged page in every cycle is no circle", async () => {
  const clock = manualClock();
  const look = () => [call("list_files", { path: "notes" }), call("checkpoint", { summary: "As before." })];
  const coordinator = script(...Array.from({ length: 12 }, look).flat());
  await using team = await startTeam({ ...plan, clock, coordinator });
  for (let cycle = 1; cycle <= 12; cycle++) {
    await isAsleep(team, coordinator, 2 * cycle);
    await clock.advance(DAY * 1000);
  }
  expect(team.agent.now.agent.error).toBe(null);
});

test("stages are counted in each cycle: after many cycles a node can still be made", async () => {
  const clock = manualClock();
  const CYCLES = 5;
  const cycle = (day: number) => [
    call("create_work_node", { task: `Look ${day}` }),
    say("I wait."),
    call("reconvene", { assessment: `Day ${day} is known.` }).after("is done"),
    call("checkpoint", { summary: `Day ${day}` }).after("is closed"),
  ];
  const days = Array.from({ length: CYCLES }, (_, at) => at + 1);
  const coordinator = script(...days.flatMap(cycle));
  const alice = script(
    ...days.flatMap((day) => [
      call("write_file", { path: "scratch/a.md", content: `${day}` }),
      call("publish", { summary: `day ${day}` }),
    ]),
  );
  const config = { max_stages: 2 };
  await using team = await startTeam({ ...plan, clock, coordinator, workers: { Alice: alice }, config });
  for (const day of days) {
    await isAsleep(team, coordinator, 4 * day);
    await clock.advance(DAY * 1000);
  }
  expect(team.agent.now.stages.map(({ status }) => status)).toEqual(days.map(() => "completed"));
});

test("turns are counted in each cycle", async () => {
  const clock = manualClock();
  const CYCLES = 4;
  const cycle = (day: number) => [call("list_files", { path: "notes" }), call("checkpoint", { summary: `Day ${day}` })];
  const coordinator = script(...Array.from({ length: CYCLES }, (_, at) => cycle(at + 1)).flat());
  await using team = await startTeam({ ...plan, clock, coordinator, config: { max_turns: 2 } });
  for (let day = 1; day <= CYCLES; day++) {
    await isAsleep(team, coordinator, 2 * day);
    await clock.advance(DAY * 1000);
  }
  expect([coordinator.played, team.agent.now.agent.error]).toEqual([2 * CYCLES, null]);
});

test("messages between two are counted in each cycle", async () => {
  const clock = manualClock();
  const sent = (content: string) => call("send_message", { to: "coordinator", content });
  const wrote = call("write_file", { path: "scratch/a.md", content: "a" });
  const published = call("publish", { summary: "said" });
  const coordinator = script(
    call("create_work_node", { task: "Talk", worker: "Alice" }),
    say("That is all for today.").after("node-1 completed"),
    call("create_work_node", { task: "Talk again", worker: "Alice" }),
    call("checkpoint", { summary: "Day 2" }).after("node-2 completed"),
  );
  const alice = script(
    both(...Array.from({ length: 60 }, (_, at) => sent(`Word ${at + 1}.`))),
    sent("One too many."),
    wrote.after("have written to each other 60 times"),
    published,
    sent("Hello.").after("Talk again"),
    wrote.after("Sent to coordinator."),
    published,
  );
  await using team = await startTeam({ ...plan, clock, coordinator, workers: { Alice: alice } });
  await isAsleep(team, coordinator, 2);
  await clock.advance(DAY * 1000);
  await isAsleep(team, coordinator, 4);
  const last = (await team.facts()).findLast((fact) => fact.type === "message.sent" && fact.data.from === "alice");
  expect(last?.data).toMatchObject({ text: "Hello.", hops: 1 });
});

test("a waking tells the date, the last checkpoint and what others changed in the memory; the prompt stays the same", async () => {
  const clock = manualClock();
  const coordinator = script(
    both(
      call("memory_write", { path: "MEMORY.md", content: "The page is in French." }),
      call("checkpoint", { summary: "First look." }),
    ),
    call("checkpoint", { summary: "Second look." }),
    call("checkpoint", { summary: "Third look." }),
  );
  await using team = await startTeam({ ...plan, clock, coordinator, env: { TZ: "UTC" } });
  await isAsleep(team, coordinator, 1);
  await clock.advance(DAY * 1000);
  await isAsleep(team, coordinator, 2);
  const woken = new Date(clock.now());
  const weekday = woken.toLocaleDateString("en-US", { weekday: "long", timeZone: "UTC" });
  const second = lastWords(coordinator);
  expect(second).toContain(`[It is ${weekday}, ${woken.toISOString().slice(0, 10)}, `);
  expect(second).toMatch(/^\[It is [^.]*:\d\d \(UTC\)\./);
  expect(second).toContain("Your last checkpoint (");
  expect(second).toContain("First look.");
  // What it wrote itself it knows.
  expect(second).not.toContain("has changed since you last saw it");

  await appendFile(join(team.agent.log.dir, "MEMORY.md"), "\nNever write on Sundays.\n");
  await clock.advance(DAY * 1000);
  await isAsleep(team, coordinator, 3);
  const third = lastWords(coordinator);
  expect(third).toContain("MEMORY.md in your memory has changed since you last saw it:\nNever write on Sundays.");
  expect(third).not.toContain("The page is in French.");
  expect(new Set(coordinator.requests.map(({ system }) => system)).size).toBe(1);
  expect(coordinator.requests[0]?.system).toContain("you are woken 1 day after each cycle");
});

test("an empty cycle costs one call, by a few words or a checkpoint, and is not shown again; also after a restart", async () => {
  const clock = manualClock();
  const coordinator = script(
    call("list_files", { path: "" }),
    call("checkpoint", { summary: "First look." }),
    say("Nothing to do."),
    call("checkpoint", { summary: "Nothing new." }),
    say("Nothing to do."),
    say("Nothing again."),
  );
  await using team = await startTeam({ ...plan, clock, coordinator });
  let now = team;
  for (let played = 2; played <= 6; played++) {
    await isAsleep(now, coordinator, played);
    if (played === 4) {
      now = await now.restart();
      await now.agent.start("recovered");
      await isAsleep(now, coordinator, played);
      expect(coordinator.requests).toHaveLength(4); // it sleeps on, at no cost
    }
    if (played < 6) await clock.advance(DAY * 1000);
  }
  const [, , third, ...empty] = coordinator.requests;
  // All that came before the waking has the same bytes in each: caches of providers hold.
  const before = (request: typeof third) => request?.history.slice(0, -1).map(({ role, content }) => [role, content]);
  expect(empty.map(before)).toEqual([before(third), before(third), before(third)]);
  expect(lastWords(coordinator)).toContain("The next cycle begins.");
  await now.runtime.close();
});

test("polling while others work never ends the run: it is answered, then it waits for the news", async () => {
  const worked = Promise.withResolvers<void>();
  const polls = Array.from({ length: 6 }, () => call("check_board", {}));
  const coordinator = script(
    call("create_work_node", { task: "Measure" }),
    say("I wait.").after("node-1"),
    ...polls.map((poll, at) => (at === 0 ? poll.after("Alice reports") : poll)),
    call("finish", { summary: "measured" }).after("node-1 completed by Alice"),
  );
  const alice = script(
    call("checkpoint", { summary: "Begun." }),
    call("write_file", { path: "scratch/a.md", content: "80" }).until(worked.promise),
    call("publish", { summary: "80" }),
  );
  await using team = await startTeam({ goal: "Measure it", coordinator, workers: { Alice: alice } });
  // The sixth poll waits, and is seen to wait.
  await team.until(({ roster }) => coordinator.played === 8 && roster.coordinator?.status === "waiting");
  worked.resolve();
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "measured" });
  const answers = (await team.conversation()).filter((entry) => entry.role === "tool" && entry.tool === "check_board");
  expect(answers.map(({ content }) => `${content}`.includes("Nothing has changed since you last looked"))).toEqual([
    ...[false, true, true, true, true, false],
  ]);
});

const long = "x".repeat(60_000);
const write = (number: number) => call("write_file", { path: `notes/${number}.md`, content: long });
const compactions = async (team: TestTeam) =>
  (await team.facts()).filter(({ type }) => type === "memory.compacted").map(({ data }) => data);

test("after a compaction the date and the memory as it is now are shown, and the request stays bounded", async () => {
  const coordinator = script(
    call("memory_write", { path: "MEMORY.md", content: "The page is in French." }),
    ...[write(1), write(2), write(3)],
    say("All is written down.").after("write"),
    call("checkpoint", { summary: "Day 1" }).after("Your memory as it is now", "The page is in French.", "It is "),
  );
  await using team = await startTeam({ ...plan, clock: manualClock(), coordinator });
  await isAsleep(team, coordinator, 6);
  expect(await compactions(team)).toHaveLength(1);
});

test("after a long sleep it goes on from a summary, at no call; after a short one from all that was said", async () => {
  const clock = manualClock();
  const isUpkeep = (entry: { content: unknown }) => `${entry.content}`.includes("Your conversation is about to be");
  const coordinator = script(
    both(write(1), call("checkpoint", { summary: "The first is written." })),
    say("It is in notes/1.md.").after("Where is it?"),
    both(call("memory_write", { path: "MEMORY.md", content: "Notes have numbers." }), say("Noted.")).after(
      "Number them",
    ),
    call("checkpoint", { summary: "They are numbered." }),
    say("Nothing to do."),
    say("Nothing to do."),
  );
  await using team = await startTeam({ ...plan, clock, coordinator });
  await isAsleep(team, coordinator, 1);
  await clock.advance(60_000);
  await team.agent.send("Where is it?");
  await isAsleep(team, coordinator, 2);
  await clock.advance(60_000);
  await team.agent.send("Number them");
  await isAsleep(team, coordinator, 4);
  expect(await compactions(team)).toEqual([]);
  for (const played of [5, 6]) {
    await clock.advance(DAY * 1000);
    await isAsleep(team, coordinator, played);
  }
  expect(await compactions(team)).toEqual([expect.objectContaining({ worker_id: "coordinator" })]);
  const { history = [] } = coordinator.requests.at(-1) ?? {};
  expect(history.some(isUpkeep)).toBe(false);
  expect(history[0]).toMatchObject({ role: "summary" });
  const shown = JSON.stringify(history);
  const kept = [
    "Notes have numbers.",
    "They are numbered.",
    "Where is it?",
    "notes/1.md (60000 bytes)",
    "next cycle begins",
  ];
  expect(kept.filter((words) => !shown.includes(words))).toEqual([]);
  expect(shown.length).toBeLessThan(12_000);
});

test("whoever worked and calls nothing more is asked once, before the sleep, to write down what it found", async () => {
  const clock = manualClock();
  const asked = "Write down what the next cycle must know";
  const coordinator = script(
    write(1),
    say("I have written it."),
    both(call("memory_write", { content: "It took an hour." }), call("checkpoint", { summary: "Written." })).after(
      asked,
    ),
    write(2),
    say("I have written it again."),
    say("I have nothing to add.").after(asked),
    say("Nothing to do."),
  );
  await using team = await startTeam({ ...plan, clock, coordinator });
  for (const played of [3, 6, 7]) {
    await isAsleep(team, coordinator, played);
    if (played < 7) await clock.advance(DAY * 1000);
  }
  expect(await compactions(team)).toHaveLength(2);
});

test.skipIf(skipped)(
  "of a long checkpoint a waking tells the beginning, marks the cut and says where the rest is",
  async () => {
    const clock = manualClock();
    const long = `The page has ${"many words, ".repeat(60)}and the last is THE END.`;
    const coordinator = script(
      call("checkpoint", { summary: long }),
      call("bash", { command: `grep '"worker.checkpointed"' agent/events.jsonl | tail -n 1` }),
      call("checkpoint", { summary: "Seen." }).after("and the last is THE END."),
      say("Nothing to do."),
    );
    await using team = await startTeam({ ...plan, clock, coordinator });
    await isAsleep(team, coordinator, 1);
    await clock.advance(DAY * 1000);
    await isAsleep(team, coordinator, 3);
    const told = coordinator.requests.at(1)?.history.findLast((entry) => entry.role === "user")?.content;
    expect(told).toContain(
      `${long.slice(0, 600)}… (cut here; whole: grep '"worker.checkpointed"' agent/events.jsonl | tail -n 1)]`,
    );
    await clock.advance(DAY * 1000);
    await isAsleep(team, coordinator, 4);
    expect(lastWords(coordinator)).toContain("): Seen.]");
  },
);

test("what commands find is told at a waking if it was not known on the first day, once, also after a restart", async () => {
  const clock = manualClock();
  const WORDS = "Commands run in a sandbox (bash, no network): Debian.";
  let found = "";
  const coordinator = script(...[1, 2, 3, 4].map((day) => call("checkpoint", { summary: `Day ${day}` })));
  const machine = async () => ({ loop: found, program: "" });
  await using team = await startTeam({ ...plan, clock, coordinator, machine });
  await isAsleep(team, coordinator, 1);
  found = WORDS;
  await clock.advance(DAY * 1000);
  await isAsleep(team, coordinator, 2);
  expect(lastWords(coordinator)).toContain(`\n\n${WORDS}`);
  await clock.advance(DAY * 1000);
  await isAsleep(team, coordinator, 3);
  expect(lastWords(coordinator)).not.toContain(WORDS);
  const now = await team.restart();
  await now.agent.start("recovered");
  await isAsleep(now, coordinator, 3);
  await clock.advance(DAY * 1000);
  await isAsleep(now, coordinator, 4);
  expect(lastWords(coordinator)).not.toContain(WORDS);
  expect(coordinator.requests.map(({ system }) => system.includes("Commands run"))).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

test("what commands find is in the prompt of an infinite agent, as in others', and not told again", async () => {
  const clock = manualClock();
  const WORDS = "Commands run in a sandbox (bash, no network): Debian.";
  const coordinator = script(...[1, 2].map((day) => call("checkpoint", { summary: `Day ${day}` })));
  const machine = async () => ({ loop: WORDS, program: "" });
  await using team = await startTeam({ ...plan, clock, coordinator, machine });
  await isAsleep(team, coordinator, 1);
  await clock.advance(DAY * 1000);
  await isAsleep(team, coordinator, 2);
  expect(coordinator.requests[0]?.system).toContain(WORDS);
  expect(lastWords(coordinator)).not.toContain(WORDS);
});

test("neither a message nor a hint nor a trigger moves the next cycle: it comes at the time that was set", async () => {
  const clock = manualClock();
  const HALF = (DAY / 2) * 1000;
  const later = { type: "delayed", config: { delay_seconds: DAY / 2 }, action: "Look at the mail." };
  const coordinator = script(
    both(call("schedule", later), call("checkpoint", { summary: "First." })),
    call("checkpoint", { summary: "Mail." }).after("[trigger-1 is due]: Look at the mail."),
    call("checkpoint", { summary: "Hint." }).after("[A hint from your human]: Mind the units."),
    call("checkpoint", { summary: "Well." }).after("[Message from your human]: How are you?"),
    call("checkpoint", { summary: "Second." }).after("The next cycle begins."),
  );
  await using team = await startTeam({ ...plan, clock, coordinator });
  await isAsleep(team, coordinator, 1);
  const cycles = () =>
    Object.values(team.agent.now.triggers.open).flatMap(({ created_by, action, due }) =>
      created_by === "agiraph" && action.type === "wake_agent" ? [due] : [],
    );
  const [due] = cycles();
  await clock.advance(HALF);
  await isAsleep(team, coordinator, 2);
  await team.agent.nudge("Mind the units.");
  await isAsleep(team, coordinator, 3);
  await team.agent.send("How are you?");
  await isAsleep(team, coordinator, 4);
  expect(cycles()).toEqual([due]);
  await clock.advance(HALF);
  await isAsleep(team, coordinator, 5);
  expect(coordinator.requests[0]?.system).toContain("when somebody writes to you, which does not move the next cycle.");
  expect(cycles()).toEqual([(due ?? 0) + DAY]);
});
