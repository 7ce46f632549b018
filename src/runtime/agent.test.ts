import { expect, test } from "vitest";
import { call, script, startTeam } from "../testing/index.ts";

test("an agent with nothing to do rests only while nobody follows its words", async () => {
  const coordinator = script(call("finish", { summary: "Nothing to do." }));
  await using team = await startTeam({ goal: "Rest.", coordinator });
  await team.agent.idle();
  expect(team.agent.isResting).toBe(true);
  const leave = team.agent.onDelta(() => {});
  const leaveToo = team.agent.onDelta(() => {});
  expect(team.agent.isResting).toBe(false);
  leave();
  expect(team.agent.isResting).toBe(false);
  leaveToo();
  expect(team.agent.isResting).toBe(true);
});
