import type { Page } from "playwright-core";
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

  test("on a phone one finds who asks, answers with a finger, writes, and reads a node", async () => {
    const own = await house.create({ goal: GOAL, name: "Pocket" });
    await until(own, ({ questions }) => Object.keys(questions.open).length === 1);
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
    const page = await house.page("/ui/", phone);
    await page.getByRole("main").getByRole("link", { name: "Bob · Pocket" }).tap();
    await page.getByRole("button", { name: CHOICES[2] ?? "" }).waitFor();
    await page.getByRole("button", { name: "Agents" }).tap();
    const menu = page.getByRole("dialog", { name: "Agents" });
    await menu.getByRole("link", { name: "Alice" }).tap();
    await page.getByRole("textbox", { name: "Message to Alice" }).fill("From the train.");
    await page.getByRole("button", { name: "Send", exact: true }).tap();
    await page.getByRole("log").getByText("From the train.").waitFor();
    await page.goBack();
    await page.getByRole("button", { name: CHOICES[2] ?? "" }).tap();
    await page.getByText(`You answered: ${CHOICES[2]}`).waitFor();
    await page.getByRole("button", { name: "Agents" }).tap();
    await menu.getByRole("link", { name: "Board" }).tap();
    await page.locator('[data-node="node-2"]').tap();
    const panel = page.getByRole("complementary", { name: "node-2" });
    await panel.getByText("Chip B: 95 TOPS at 15 W.").first().waitFor();
    const { x, width } = (await panel.boundingBox()) ?? { x: -1, width: -1 };
    expect([x, width]).toEqual([0, 390]);
    await panel.getByRole("link", { name: "Close" }).tap();
    await panel.waitFor({ state: "detached" });
    expect(
      (await own.log.read({ after: 0, limit: 1000 })).flatMap((fact) =>
        fact.type === "message.sent" && fact.data.from === "human" ? [[fact.data.to, fact.data.text]] : [],
      ),
    ).toEqual([["alice", "From the train."]]);
    await page.context().close();
    await own.archive("human");
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
    // An input method takes its own Enter and Escape, for instance in Japanese.
    for (const key of ["Enter", "Escape"])
      await page.getByRole("combobox").dispatchEvent("keydown", { key, bubbles: true, isComposing: true });
    expect(await page.getByRole("dialog", { name: "Find" }).isVisible()).toBe(true);
    expect(new URL(page.url()).pathname).toBe("/ui/");
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
    await page.keyboard.press("b");
    await page.locator("[data-node]").first().waitFor();
    await tabTo(page, "[data-node]");
    await page.keyboard.press("Enter");
    await page.getByRole("complementary", { name: "node-1" }).waitFor();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.getByRole("complementary", { name: "node-3" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("complementary", { name: "node-3" }).waitFor({ state: "detached" });
    await page.keyboard.press("[");
    await page.getByRole("region", { name: "Replay" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("region", { name: "Replay" }).waitFor({ state: "detached" });
    await page.keyboard.press("f");
    await page.getByRole("heading", { name: "Files", level: 1 }).waitFor();
    await tabTo(page, "main a[href*='GOAL.md'], main button[aria-expanded]");
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("find anything").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
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
    await page.keyboard.press("Control+Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("log").getByText("Noted.").first().waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("archive say hello");
    await page.keyboard.press("Enter");
    await page.getByText(/ was (stopped and )?archived\.$/).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("worker bob");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: CHOICES[1] ?? "" }).waitFor();
    await page.keyboard.press("2");
    await page.getByText(`You answered: ${CHOICES[1]}`).waitFor();
    await page.context().close();
  });
});

/** As one goes there without a mouse. */
async function tabTo(page: Page, what: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(what)})`)) return;
  }
  throw new Error(`Nobody comes to ${what} by Tab.`);
}
