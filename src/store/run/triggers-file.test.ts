import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryHome } from "../../testing/temporary-home.ts";
import { TriggerWorld } from "../../testing/trigger-world.ts";
import { writeTriggers } from "./triggers-file.ts";

test("triggers.json has what is to come and what was, in the words of the seed", async () => {
  await using home = await temporaryHome();
  const world = new TriggerWorld();
  await world.schedule.create("coordinator", { type: "delayed", config: { delay_seconds: 60 }, action: "go" });
  await world.schedule.create("human", { type: "on_idle", config: { idle_seconds: 60 }, action: "go" });
  await world.schedule.cancel("human", "trigger-1");
  writeTriggers(home.path, world.now);
  const made = {
    agent_id: "agent-test",
    action: { type: "wake_agent", payload: { task: "go" } },
    created_at: world.at,
  };
  expect(JSON.parse(await readFile(join(home.path, "triggers.json"), "utf8"))).toEqual([
    {
      id: "trigger-2",
      ...made,
      type: "on_idle",
      status: "active",
      created_by: "human",
      metadata: { idle_seconds: 60 },
      missed: "once",
      due: null,
      fired: 0,
    },
    {
      id: "trigger-1",
      ...made,
      type: "delayed",
      status: "cancelled",
      created_by: "coordinator",
      metadata: { delay_seconds: 60 },
      missed: "once",
      due: null,
      fired: 0,
    },
  ]);
});
