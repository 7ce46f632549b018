import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import { until } from "../../src/testing/index.ts";
import { CHOICES, chipTeam, GOAL, NAME } from "./chip-team.ts";
import { type House, hasChromium, openHouse } from "./house.ts";

describe.skipIf(!hasChromium)("reaching everything, by keyboard and on a phone", () => {
  let house: House;
  let agent: Agent;
  beforeAll(async () => {
    house = await openHouse(chipTeam);
    agent = await house.create({ goal: GOAL, name: NAME });
    house.provider.release("alice");
    await until(
      agent,
      ({ questions, board }) =>
        Object.keys(questions.open).length === 1 && board.nodes["node-1"]?.status === "completed",
    );
  });
  afterAll(async () => {
    await house?.[Symbol.asyncDispose]();
  });

  test("on a phone the menu leads everywhere, and goes away with the choice", async () => {
    const page = await house.page(`/ui/agents/${agent.log.id}`, { viewport: { width: 390, height: 844 } });
    await page.getByRole("button", { name: "Agents" }).click();
    const menu = page.getByRole("dialog", { name: "Agents" });
    await menu.getByRole("link", { name: "Board" }).click();
    await page.getByRole("heading", { name: "Board" }).waitFor();
    await menu.waitFor({ state: "detached" });
    await page.context().close();
  });

  test("whoever is at the end of a stream stays there when the page becomes narrow and low", async () => {
    const page = await house.page(`/ui/agents/${agent.log.id}`);
    await page.getByRole("log").getByText("finished node-1").waitFor();
    await page.setViewportSize({ width: 390, height: 400 });
    const left =
      "(() => { const log = document.querySelector('[role=log]'); return log.scrollHeight - log.clientHeight - log.scrollTop; })()";
    await expect.poll(() => page.evaluate("document.querySelector('[role=log]').clientWidth")).toBe(390);
    await expect.poll(() => page.evaluate(left)).toBeLessThan(2);
    await page.getByRole("button", { name: "Newest" }).waitFor({ state: "detached" });
    await page.context().close();
  });

  test("with the keyboard alone one gets everywhere, asks for an agent, and answers", async () => {
    const page = await house.page();
    await page.getByRole("heading", { name: "Agents" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("chip comparison");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: NAME }).waitFor();
    for (const [key, title] of [
      ["b", "Board"],
      ["t", "Timeline"],
      ["f", "Files"],
      ["m", "Memory"],
      ["s", "Triggers"],
      ["c", NAME],
    ] as const) {
      await page.keyboard.press(key);
      await page.getByRole("heading", { name: title, level: 1 }).waitFor();
    }
    await page.keyboard.press("Alt+ArrowDown");
    await page.getByRole("heading", { name: "Bob", level: 1 }).waitFor();
    await page.keyboard.press("Alt+ArrowUp");
    await page.getByRole("heading", { name: NAME, level: 1 }).waitFor();
    await page.goto(`/ui/agents/${agent.log.id}/board/node-1`);
    await page.getByRole("complementary", { name: "node-1" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("complementary", { name: "node-1" }).waitFor({ state: "detached" });
    await page.keyboard.press("c");
    await page.getByRole("heading", { name: NAME, level: 1 }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("b is for board");
    expect(await page.getByRole("textbox", { name: "Message to the coordinator" }).inputValue()).toBe("b is for board");
    await page.keyboard.press("Escape");
    await page.keyboard.press("n");
    await page.getByRole("dialog", { name: "New agent" }).waitFor();
    await page.keyboard.type("Say hello to everybody");
    expect(await page.getByLabel("Goal").inputValue()).toBe("Say hello to everybody");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("Control+k");
    await page.keyboard.type("member bob");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: CHOICES[1] ?? "" }).waitFor();
    await page.keyboard.press("2");
    await page.getByText(`You answered: ${CHOICES[1]}`).waitFor();
  });
});
