import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { finish, scriptedAgent } from "./testing/scripted-agent.ts";

const { scripted, options, call, run } = scriptedAgent();

async function configured(config: object): Promise<void> {
  const { AGIRAPH_HOME = "" } = options().env ?? {};
  await mkdir(AGIRAPH_HOME, { recursive: true });
  await writeFile(join(AGIRAPH_HOME, "config.json"), JSON.stringify(config));
}

test("show says what a channel that is down has not delivered", async () => {
  await scripted([finish("Painted.")]);
  const channel = { type: "webhook", url: "http://127.0.0.1:9/", secret: "0123456789abcdef", to: ["ends"] };
  await configured({ channels: { pager: channel } });
  await run();
  expect((await call("show", "paint")).stdout.split("\n").filter((line) => line.startsWith("Unsent"))).toEqual([
    "Unsent   1 by pager; tried again while a process works in this home",
  ]);
});

test("show of an agent whose budget is spent says how much more it takes to go on", async () => {
  await scripted([
    { calls: [{ name: "list_files", args: { path: "" } }], usage: { input: 900, output: 200 } },
    finish("Painted."),
  ]);
  await configured({ budget_tokens: 1000 });
  expect((await run()).code).toBe(1);
  const shown = (await call("show", "paint")).stdout.replace(/agent-\w{8}/g, "ID");
  expect(shown).toContain("Continue with: agiraph resume ID --budget-tokens N (in all: more than 1100)");
});
