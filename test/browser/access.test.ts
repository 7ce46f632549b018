import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import { until } from "../../src/testing/index.ts";
import { AGAIN, CHOICES, chipTeam, GOAL, INSIGHT, NAME } from "./chip-team.ts";
import { type House, hasChromium, openHouse, picture } from "./house.ts";

const WIDTHS = [1440, 390] as const;
const THEMES = ["light", "dark"] as const;

describe.skipIf(!hasChromium)("the page for everyone", () => {
  let house: House;
  let agent: Agent;
  let page: Page;
  let screens: readonly (readonly [name: string, path: string, ready: string])[];
  beforeAll(async () => {
    house = await openHouse(chipTeam);
    agent = await house.create({ goal: GOAL, name: NAME, budget_usd: 5 });
    house.provider.release("alice");
    await until(
      agent,
      ({ questions, board }) =>
        Object.keys(questions.open).length === 1 && board.nodes["node-1"]?.status === "completed",
    );
    const demo = await house.create({ goal: "Survey the files", name: "Docs survey", model: "demo/surveyor" });
    await until(demo, (now) => now.agent.status === "completed");
    page = await house.page();
    const at = `/ui/agents/${agent.log.id}`;
    const published = `${at}/files/runs/run-1/nodes/node-1/published`;
    screens = [
      ["home", "/ui/", "Agents"],
      ["coordinator", at, "I set up a team of three"],
      ["worker", `${at}/workers/alice`, "The numbers are stable."],
      ["question", `${at}/workers/bob`, CHOICES[0] ?? ""],
      ["board", `${at}/board`, "Measure chip A"],
      ["node", `${at}/board/node-1`, "Alice published node-1"],
      ["timeline", `${at}/timeline`, "waiting for you"],
      ["replay", `${at}/board?at=30`, "Measure chip A"],
      ["replay-files", `${at}/files?at=30`, "Published files are exactly as they were"],
      ["triggers", `${at}/triggers`, AGAIN],
      ["files", `${published}/report.md`, "80 TOPS"],
      ["code", `${published}/bench.ts`, "measure"],
      ["memory", `${at}/memory/knowledge/chips.md`, "A and B are compared."],
      ["insight", `${at}/memory`, INSIGHT],
      ["demo", `/ui/agents/${demo.log.id}`, "Demo."],
      ["empty-board", `/ui/agents/${demo.log.id}/board`, "The coordinator did it alone"],
      ["missing", "/ui/agents/agent-none", "There is no agent"],
    ];
  });
  afterAll(async () => {
    await house[Symbol.asyncDispose]();
  });

  test.for(WIDTHS.flatMap((width) => THEMES.map((theme) => ({ width, theme }))))(
    "no screen breaks a rule of accessibility at $width pixels, $theme",
    { timeout: 240_000 },
    async ({ width, theme }) => {
      await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
      await page.emulateMedia({ colorScheme: theme });
      const found: unknown[] = [];
      for (const [name, path, ready] of screens) {
        await page.goto(path);
        await page.getByRole("main").getByText(ready).first().waitFor();
        found.push(...(await violations(page, name, theme)));
        await picture(page, `${name}-${width}-${theme}`);
        const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        if (overflow !== 0) found.push([name, "overflows", overflow]);
      }
      for (const [name, key, ready] of [
        ["palette", "Control+k", "Find an agent"],
        ["keys", "?", "find anything"],
        ["new-agent", "n", "Budget in USD"],
      ] as const) {
        await page.goto(`/ui/agents/${agent.log.id}`);
        await page.getByRole("log").waitFor();
        await page.keyboard.press(key);
        await page.getByRole("dialog").waitFor();
        if (name !== "palette") await page.getByRole("dialog").getByText(ready).first().waitFor();
        found.push(...(await violations(page, name, theme)));
        await picture(page, `${name}-${width}-${theme}`);
      }
      await page.goto(`/ui/agents/${agent.log.id}/triggers`);
      await page.getByRole("button", { name: "Add" }).click();
      await page.getByRole("dialog", { name: "Later" }).waitFor();
      found.push(...(await violations(page, "new-trigger", theme)));
      await picture(page, `new-trigger-${width}-${theme}`);
      expect(found).toEqual([]);
    },
  );

  test.for(WIDTHS.flatMap((width) => THEMES.map((theme) => ({ width, theme }))))(
    "nor does any state there is before, between and without agents, at $width pixels, $theme",
    async ({ width, theme }) => {
      await using empty = await openHouse({ turns: {} });
      const tab = await empty.page("/ui/", {
        viewport: { width, height: width === 390 ? 844 : 900 },
        colorScheme: theme,
      });
      const found: unknown[] = [];
      const look = async (name: string, text: string) => {
        await tab.getByText(text).first().waitFor();
        found.push(...(await violations(tab, name, theme)));
        await picture(tab, `${name}-${width}-${theme}`);
      };
      await look("welcome", "Give an agent a goal");
      const put = await empty.create({ goal: "Be put away", name: "Put away", model: "demo/surveyor" });
      await tab.goto(`/ui/agents/${put.log.id}`);
      await tab.getByRole("button", { name: "Delete" }).click();
      await look("deleted", "Put away was stopped and put away.");
      await tab.context().setOffline(true);
      empty.dropSockets();
      await look("lost", "The connection is lost");
      await tab.context().setOffline(false);
      await tab.route("**/agents?*", (route) => route.abort());
      await tab.goto("/ui/");
      await look("unreachable", "The server does not answer");
      await tab.unrouteAll();
      await tab.context().clearCookies();
      await tab.goto("/ui/");
      await look("locked", "This page needs its key");
      expect(found).toEqual([]);
    },
  );

  test("at 390 pixels everything is within reach of a finger", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.emulateMedia({ colorScheme: "light" });
    const small: unknown[] = [];
    for (const [name, path, ready] of screens) {
      await page.goto(path);
      await page.getByRole("main").getByText(ready).first().waitFor();
      const found = await page
        .locator("main button:visible, main nav a:visible, header button:visible, main textarea:visible")
        .evaluateAll((all) =>
          all.flatMap((element) => {
            const { height } = element.getBoundingClientRect();
            const isInline = element.closest("p, ol, [aria-label='Who worked when']") !== null;
            return height < 44 && !isInline
              ? [[element.getAttribute("aria-label") ?? element.textContent, Math.round(height)]]
              : [];
          }),
        );
      small.push(...found.map((each) => [name, each]));
    }
    expect(small).toEqual([]);
    await page.goto(`/ui/agents/${agent.log.id}`);
    await page.getByRole("button", { name: "Agents" }).click();
    await page.getByRole("dialog", { name: "Agents" }).getByRole("link", { name: "Board" }).waitFor();
    expect(await violations(page, "drawer", "light")).toEqual([]);
    await picture(page, "drawer-390-light");
    await page.getByRole("dialog", { name: "Agents" }).getByRole("link", { name: "Board" }).click();
    await page.getByRole("heading", { name: "Board" }).waitFor();
    await page.getByRole("dialog", { name: "Agents" }).waitFor({ state: "detached" });
  });

  test("with the keyboard alone one gets everywhere, asks for an agent, and answers", async () => {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto("/ui/");
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

async function violations(page: Page, screen: string, theme: string): Promise<unknown[]> {
  // Without frames of other origins the older way does, at half the time.
  const axe = new AxeBuilder({ page }).setLegacyMode(true);
  // Only colours differ between the themes.
  if (theme === "dark") axe.withRules(["color-contrast"]);
  const { violations: found } = await axe.analyze();
  return found.map(({ id, nodes }) => [screen, id, nodes.slice(0, 3).map(({ html }) => html.slice(0, 200))]);
}
