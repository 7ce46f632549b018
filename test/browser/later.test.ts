import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import { until } from "../../src/testing/index.ts";
import { AGAIN, chipTeam, GOAL, INSIGHT, NAME } from "./chip-team.ts";
import { type House, hasChromium, openHouse } from "./house.ts";

describe.skipIf(!hasChromium)("what an agent is to do later, to keep and to hear, in the page", () => {
  let house: House;
  let agent: Agent;
  let page: Page;
  beforeAll(async () => {
    house = await openHouse(chipTeam);
    agent = await house.create({ goal: GOAL, name: NAME });
    await until(agent, ({ questions, insights }) => Object.keys(questions.open).length === 1 && insights.offered === 1);
    page = await house.page(`/ui/agents/${agent.log.id}/triggers`);
  });
  afterAll(async () => {
    await house[Symbol.asyncDispose]();
  });

  test("triggers are listed, added and cancelled, and what makes no sense is refused in words", async () => {
    const later = page.getByRole("list", { name: "To happen later" });
    await later.getByText(AGAIN).waitFor();
    await later.getByText("by calendar: 0 9 * * MON (UTC)").waitFor();
    await page.getByRole("button", { name: "Add" }).click();
    const dialog = page.getByRole("dialog", { name: "Later" });
    await dialog.getByLabel("What it is to do then").fill("Measure again");
    await dialog.getByLabel("When").selectOption("scheduled");
    await dialog.getByLabel("Cron").fill("whenever you like");
    await dialog.getByRole("button", { name: "Set it" }).click();
    await dialog.getByRole("alert").getByText("whenever you like").waitFor();
    await dialog.getByLabel("When").selectOption("delayed");
    await dialog.getByLabel("Minutes from now").fill("30");
    await dialog.getByRole("button", { name: "Set it" }).click();
    await later.getByText("30 minutes after it was set").waitFor();
    await page.getByRole("button", { name: "Cancel trigger-1" }).click();
    const over = page.getByRole("list", { name: "Over" });
    await over.getByText(AGAIN).waitFor();
    await over.getByText("cancelled").waitFor();
    expect(await later.getByRole("listitem").count()).toBe(1);
    const { open, settled } = agent.now.triggers;
    expect(Object.values(open).map(({ id, when, action }) => [id, when, action])).toEqual([
      [
        "trigger-2",
        { type: "delayed", config: { delay_seconds: 1800 } },
        { type: "wake_agent", payload: { task: "Measure again" } },
      ],
    ]);
    expect(settled.map(({ id, status }) => [id, status])).toEqual([["trigger-1", "cancelled"]]);
  });

  test("an insight waits in the memory, and the coordinator's decision about it is told", async () => {
    await page.goto(`/ui/agents/${agent.log.id}/memory`);
    const offered = page.getByRole("region", { name: "Offered" });
    await offered.getByText(INSIGHT).click();
    await offered.getByText("8 % high").waitFor();
    await page.keyboard.press("c");
    const field = page.getByRole("textbox", { name: "Message to the coordinator" });
    await field.fill("Keep what Alice offers.");
    await field.press("Enter");
    await page.getByRole("log").getByText("took insight-1 into memory/knowledge/method.md").click();
    await page.getByRole("heading", { name: "Memory" }).waitFor();
    await page.getByRole("link", { name: "method.md" }).click();
    await page.getByRole("heading", { name: INSIGHT }).waitFor();
    expect(await offered.count()).toBe(0);
  });

  test("a hint shows at once as what it is, and goes to the coordinator as one", async () => {
    await page.goto(`/ui/agents/${agent.log.id}`);
    const field = page.getByRole("textbox", { name: "Message to the coordinator" });
    await field.fill("The lab closes at six.");
    await page.getByRole("button", { name: "Send as a hint" }).click();
    await page.getByRole("log").getByText("The lab closes at six.").waitFor();
    await field.fill("Bob has the key.");
    await field.press("Alt+Enter");
    await page.getByRole("log").getByText("hint", { exact: true }).nth(1).waitFor();
    const facts = await agent.log.read({ after: 0, limit: 1000 });
    expect(facts.flatMap((fact) => (fact.type === "human.nudge" ? [fact.data] : []))).toEqual([
      { text: "The lab closes at six.", channel: "web" },
      { text: "Bob has the key.", channel: "web" },
    ]);
  });
});
