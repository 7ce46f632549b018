import { readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { call, manualClock, script, startTeam, type TestTeam } from "../../src/testing/index.ts";

const goalFile = (team: TestTeam) => join(team.agent.log.dir, "GOAL.md");
const goalFacts = async (team: TestTeam) => (await team.facts()).filter(({ type }) => type.startsWith("goal."));
const NEW = "Watch the other page";

async function watcher(...turns: Parameters<typeof script>) {
  const clock = manualClock();
  const coordinator = script(call("checkpoint", { summary: "first look" }), ...turns);
  const team = await startTeam({ goal: "Watch the page", clock, mode: "infinite", cycle_seconds: 30, coordinator });
  const asleepAfter = (played: number) =>
    team.until(({ roster }) => coordinator.played === played && roster.coordinator?.status === "waiting");
  await asleepAfter(1);
  return { team, clock, asleepAfter };
}

test("GOAL.md edited by hand is the goal from the next cycle on, and the agent is told", async () => {
  const { team, clock, asleepAfter } = await watcher(
    call("checkpoint", { summary: "the other page" }).after(
      `Your human changed your goal (agent/GOAL.md). It is now:\n${NEW}`,
    ),
    call("checkpoint", { summary: "again" }),
  );
  await using _ = team;
  await writeFile(goalFile(team), `\n${NEW}\n\n`);
  await clock.advance(30_000);
  await asleepAfter(2);
  expect(team.agent.now.agent).toMatchObject({ goal: NEW, run: { goal: NEW } });
  await clock.advance(30_000);
  await asleepAfter(3);
  expect((await goalFacts(team)).map(({ data }) => data)).toEqual([{ goal: NEW, run_id: "run-1" }]);
});

test.each([
  ["empty", " \n", "GOAL.md is empty."],
  ["too long", "x".repeat(40_000), "GOAL.md is too long (at most 32000 characters)."],
  ["not text", Buffer.from([0xff, 0xfe, 0x00]), "GOAL.md is not plain text in UTF-8."],
])("a GOAL.md that is %s changes nothing, and that is said once", async (_, content, why) => {
  const { team, clock, asleepAfter } = await watcher(
    call("checkpoint", { summary: "second" }),
    call("checkpoint", { summary: "third" }),
  );
  await using _team = team;
  await writeFile(goalFile(team), content);
  for (const played of [2, 3]) {
    await clock.advance(30_000);
    await asleepAfter(played);
  }
  expect(team.agent.now.agent.goal).toBe("Watch the page");
  expect((await goalFacts(team)).map(({ data }) => data)).toEqual([{ why }]);
});

test("a GOAL.md that is a link is not followed, one that is gone is written again", async () => {
  const { team, clock, asleepAfter } = await watcher(call("checkpoint", { summary: "second" }));
  await using _ = team;
  await rm(goalFile(team));
  await symlink("/etc/hostname", goalFile(team));
  await clock.advance(30_000);
  await asleepAfter(2);
  expect(team.agent.now.agent.goal).toBe("Watch the page");
  await rm(goalFile(team));
  await team.agent.pause("human");
  await team.agent.start("resumed");
  expect(await readFile(goalFile(team), "utf8")).toBe("Watch the page\n");
});

test("what was written into GOAL.md while the agent rested is heard with the next goal, and stays in the file", async () => {
  const coordinator = script(
    call("finish", { summary: "one" }),
    call("finish", { summary: "two" }).after("Go on.", `It is now:\n${NEW}`),
    call("finish", { summary: "three" }).after("Something else."),
  );
  await using team = await startTeam({ goal: "Watch the page", coordinator });
  await team.agent.idle();
  await writeFile(goalFile(team), NEW);
  await team.agent.send("Go on.");
  await team.agent.idle();
  expect(team.agent.now.agent).toMatchObject({ runs: 2, summary: "two", goal: NEW, run: { goal: "Go on." } });
  expect(await readFile(goalFile(team), "utf8")).toBe(NEW);
  await team.agent.send("Something else.");
  await team.agent.idle();
  expect(await readFile(goalFile(team), "utf8")).toBe("Something else.\n");
  expect(await goalFacts(team)).toHaveLength(1);
});

test("the goal is the person's: the coordinator cannot write it", async () => {
  const coordinator = script(
    call("write_file", { path: "agent/GOAL.md", content: "Rest." }),
    call("finish", { summary: "refused" }).after("The goal is your human's; ask them to change it."),
  );
  await using team = await startTeam({ goal: "Watch the page", coordinator });
  await team.agent.idle();
  expect(await readFile(goalFile(team), "utf8")).toBe("Watch the page\n");
});
