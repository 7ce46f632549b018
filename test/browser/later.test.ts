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
    agent = await house.create({ goal: GOAL, name: NAME, project: import.meta.dirname });
    await until(agent, ({ questions, insights }) => Object.keys(questions.open).length === 1 && insights.offered === 1);
    page = await house.page(`/ui/agents/${agent.log.id}/triggers`);
  });
  afterAll(async () => {
    await house[Symbol.asyncDispose]();
  });

  /** As somebody does whose finger is too quick: two clicks on each button, at its place, whatever lies there then. */
  async function cancelTwice(id: string): Promise<void> {
    for (const name of [`Cancel ${id}`, `Cancel it: ${id}`]) {
      const button = page.getByRole("button", { name, exact: true });
      await button.click({ trial: true });
      const box = await button.boundingBox();
      if (!box) throw new Error(`${name} is not to be seen.`);
      const at = [box.x + box.width / 2, box.y + box.height / 2] as const;
      await page.mouse.click(...at);
      if (name.startsWith("Cancel it")) await button.waitFor({ state: "detached" });
      await page.mouse.click(...at);
    }
  }

  test("triggers are listed, added and cancelled, and what makes no sense is refused in words", async () => {
    const later = page.getByRole("list", { name: "To come" });
    await later.getByText(AGAIN).waitFor();
    await later.getByText("by calendar: 0 9 * * MON (UTC)").waitFor();
    await page.getByRole("button", { name: "Add", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "New trigger" });
    await dialog.getByLabel("What it should do").fill("Measure again");
    await dialog.getByLabel("When").selectOption("scheduled");
    // One label each, the fields side by side, and an example that does not look filled in.
    const tops = await Promise.all(
      ["When", "Cron"].map(async (label) => (await dialog.getByLabel(label).boundingBox())?.y),
    );
    expect(tops[1]).toBe(tops[0]);
    expect(await dialog.getByLabel("Cron").getAttribute("placeholder")).toBe("e.g. 0 9 * * MON");
    await dialog.getByLabel("When").selectOption("at_time");
    await dialog.getByLabel("Date and time").waitFor();
    await dialog.getByLabel("When").selectOption("scheduled");
    await dialog.getByLabel("Cron").fill("whenever you like");
    await dialog.getByRole("button", { name: "Add trigger" }).click();
    await dialog.getByRole("alert").getByText("whenever you like").waitFor();
    await dialog.getByLabel("When").selectOption("delayed");
    await dialog.getByLabel("Minutes from now").fill("30");
    await dialog.getByRole("button", { name: "Add trigger" }).click();
    await later.getByText("30 minutes after it was set").waitFor();
    await cancelTwice("trigger-1");
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
    // Whoever thinks better of it keeps it.
    await page.getByRole("button", { name: "Cancel trigger-2" }).click();
    await page.getByRole("button", { name: "Cancel it: trigger-2" }).waitFor();
    const keep = page.getByRole("button", { name: "Keep it: trigger-2" });
    await keep.click({ trial: true }); // it has rested
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Cancel trigger-2" }).click({ trial: true });
    expect(Object.keys(agent.now.triggers.open)).toEqual(["trigger-2"]);
  });

  test("a path, or what a command prints, is watched as `run --watch` has it", async () => {
    const later = page.getByRole("list", { name: "To come" });
    const dialog = page.getByRole("dialog", { name: "New trigger" });
    for (const [typed, words] of [
      ["cmd: ls scratch", "when what `ls scratch` prints changes, checked every 5 minutes"],
      ["project/house.ts", "when project/house.ts changes, checked every 5 minutes"],
    ] as const) {
      await page.getByRole("button", { name: "Add", exact: true }).click();
      await dialog.getByLabel("What it should do").fill("Say what changed");
      await dialog.getByLabel("When").selectOption("on_change");
      await dialog.getByLabel("Address, path or command").fill(typed);
      await dialog.getByRole("button", { name: "Add trigger" }).click();
      await later.getByText(words).waitFor();
    }
    const watched = Object.values(agent.now.triggers.open).filter(({ when }) => when.type === "on_change");
    expect(watched.map(({ when }) => when.config)).toEqual([
      { command: "ls scratch", every_seconds: 300 },
      { path: "project/house.ts", every_seconds: 300 },
    ]);
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
