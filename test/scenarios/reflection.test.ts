import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Situation } from "../../src/projections/index.ts";
import { both, call, manualClock, script, startTeam } from "../../src/testing/index.ts";

const NOON = Date.UTC(2026, 1, 11, 12);
/** With the one that ends it, just long enough. */
const WORK = Array.from({ length: 19 }, (_, at) => call("write_file", { path: `${at}.md`, content: `${at}` }));
const memoryOf = (dir: string) => ({
  files: () => readdir(join(dir, "memory"), { recursive: true }).then((names) => names.sort()),
  text: (path: string) => readFile(join(dir, "memory", path), "utf8"),
});

test("what a run taught is kept with its goal, is in the daily log, and the next run begins with it", async () => {
  const coordinator = script(
    call("finish", { summary: "80", learned: "Measure twice: the first figure is cold." }),
    call("finish", { summary: "95" }).after("Now chip B."),
  );
  await using team = await startTeam({ goal: "How fast is chip A?", clock: manualClock(NOON), coordinator });
  await team.agent.idle();
  const memory = memoryOf(team.agent.log.dir);
  expect(await memory.text("experiences/learned.md")).toBe(
    "## How fast is chip A? (run-1)\n\nMeasure twice: the first figure is cold.\n\n(2026-02-11, run-1)\n",
  );
  expect(await memory.text("2026-02-11.md")).toBe(
    '## 12:00\n\nFinished "How fast is chip A?" (run-1): 80 The output is in agent/runs/run-1/_output.md. Learned (experiences/learned.md): Measure twice: the first figure is cold.\n',
  );
  await team.agent.send("Now chip B.");
  await team.agent.idle();
  const { system, history } = coordinator.requests.at(-1) ?? {};
  expect(system).toContain("- experiences/learned.md (");
  expect(JSON.stringify(history)).toContain("Measure twice: the first figure is cold.");
  expect((await memory.text("experiences/learned.md")).match(/^## /gm)).toHaveLength(1);
});

test("who worked long and says nothing of it is asked once, and may have learned nothing", async () => {
  const coordinator = script(
    ...WORK,
    call("finish", { summary: "done" }),
    call("finish", { summary: "done" }).after("what did it teach you that a later run should know?"),
    call("finish", { summary: "short" }).after("Again."),
  );
  await using team = await startTeam({ goal: "Write letters", clock: manualClock(NOON), coordinator });
  await team.agent.idle();
  expect(team.agent.now.agent.outcome).toEqual({ kind: "finished", summary: "done" });
  await team.agent.send("Again.");
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "short" });
  expect(await memoryOf(team.agent.log.dir).files()).toEqual(["2026-02-11.md", "index.md"]);
});

test("that it was asked is known after a restart", async () => {
  const coordinator = script(
    ...WORK,
    call("finish", { summary: "done" }),
    call("ask_human", { question: "Enough?" }).after("what did it teach you that a later run should know?"),
    call("finish", { summary: "done" }).after("Yes."),
  );
  await using team = await startTeam({ goal: "Write letters", clock: manualClock(NOON), coordinator });
  await team.until(({ agent }) => agent.status === "waiting_for_human");
  const later = await team.restart();
  await later.agent.start("resumed");
  await later.agent.respond("Yes.");
  expect(await later.outcome()).toEqual({ kind: "finished", summary: "done" });
  await later.runtime.close();
});

test("what is learned by a checkpoint is kept before it is recorded, once", async () => {
  const coordinator = script(
    call("checkpoint", { summary: "Half.", learned: "The left half is harder." }),
    call("checkpoint", { summary: "Most.", learned: "The left half is harder." }).after("Recorded. Go on."),
    call("checkpoint", { summary: "All." }),
    call("finish", { summary: "done", learned: "" }).after("write lasting insights to memory"),
  );
  await using team = await startTeam({ goal: "Sort it", clock: manualClock(NOON), coordinator });
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
  expect(await memoryOf(team.agent.log.dir).text("experiences/learned.md")).toBe(
    "## Sort it (run-1)\n\nThe left half is harder.\n\n(2026-02-11, run-1)\n",
  );
});

test("a cycle ends although the file of what was learned is full: the log has it, and if that is full too, it is said", async () => {
  const { promise: isFull, resolve: fill } = Promise.withResolvers<void>();
  const { promise: logIsFull, resolve: fillLog } = Promise.withResolvers<void>();
  const clock = manualClock(NOON);
  const coordinator = script(
    call("checkpoint", { summary: "Half.", learned: "The left half is harder." }).until(isFull),
    both(call("list_files", {}), call("checkpoint", { summary: "Most.", learned: "So is the rest." }))
      .after("in today's log alone: experiences/learned.md is full")
      .until(logIsFull),
    call("finish", { summary: "done", learned: "" }).after("was not kept: 2026-02-11.md is full"),
  );
  await using team = await startTeam({ goal: "Sort it", clock, mode: "infinite", cycle_seconds: 60, coordinator });
  const memory = memoryOf(team.agent.log.dir);
  const full = "x\n".repeat(512 * 1024);
  await mkdir(join(team.agent.log.dir, "memory/experiences"), { recursive: true });
  await writeFile(join(team.agent.log.dir, "memory/experiences/learned.md"), full);
  fill();
  await team.until(({ agent, roster }) => agent.last_checkpoint?.summary === "Half." && isAsleep(roster));
  expect(await memory.text("2026-02-11.md")).toBe("## 12:00\n\nLearned: The left half is harder.\n");
  await writeFile(join(team.agent.log.dir, "memory/2026-02-11.md"), full);
  fillLog();
  await clock.advance(60_000);
  await team.until(({ agent, roster }) => agent.last_checkpoint?.summary === "Most." && isAsleep(roster));
  await clock.advance(60_000);
  expect(await team.outcome()).toEqual({ kind: "finished", summary: "done" });
});

const isAsleep = (roster: Situation["roster"]) => roster.coordinator?.status === "waiting";

test("an agent that lives on sees to its old logs in a run that begins anyway, and no alarm is set for it", async () => {
  const coordinator = script(
    call("finish", { summary: "80", learned: "" }),
    call("finish", { summary: "95", learned: "" }).after("Now chip B."),
  );
  await using team = await startTeam({ goal: "How fast is chip A?", clock: manualClock(NOON), coordinator });
  await team.agent.idle();
  for (const day of ["01", "02", "03", "10"])
    await writeFile(join(team.agent.log.dir, `memory/2026-02-${day}.md`), `## 09:00\n\nOn day ${day}.\n`);
  await team.agent.send("Now chip B.");
  await team.agent.idle();
  const asked = coordinator.requests.map(({ system }) => /^Upkeep .*"(Distilled: .*?)"/m.exec(system)?.[1]);
  expect(asked).toEqual([undefined, "Distilled: 2026-02-01, 2026-02-02, 2026-02-03"]);
  expect(coordinator.requests.at(-1)?.system).toContain("### 2026-02-02.md\n\n## 09:00\n\nOn day 02.");
  expect(team.agent.now.triggers.open).toEqual({});
});

test("what is in the memory already is not written down again when the run ends", async () => {
  const coordinator = script(
    call("memory_write", { path: "MEMORY.md", content: "The release is on 5 May." }),
    call("checkpoint", { summary: "Half.", learned: "Ask Ann first." }),
    call("finish", {
      summary: "done",
      learned: "- The release is on 5 May.\n- Ask Ann first.\n- The release notes are late.",
    }),
  );
  await using team = await startTeam({ goal: "Plan it", clock: manualClock(NOON), coordinator });
  await team.outcome();
  const memory = memoryOf(team.agent.log.dir);
  const learned = await memory.text("experiences/learned.md");
  const log = await memory.text("2026-02-11.md");
  expect([learned.match(/5 May/g), learned.match(/Ask Ann/g), learned.match(/notes are late/g)?.length]).toEqual([
    null,
    ["Ask Ann"],
    1,
  ]);
  expect([log.match(/5 May/g), log.match(/Ask Ann/g)]).toEqual([null, ["Ask Ann"]]);
});
