import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import { until } from "../../src/testing/index.ts";
import { chipTeam, GOAL, NAME } from "./chip-team.ts";
import { type House, hasChromium, openHouse } from "./house.ts";

/** When the page asked the server for anything, by HTTP and by socket. */
const COUNTED = `{
  window.asked = [];
  const own = window.fetch;
  window.fetch = (...how) => { window.asked.push(performance.now()); return own(...how); };
  window.WebSocket = class extends WebSocket {
    constructor(...how) { super(...how); window.asked.push(performance.now()); }
  };
}`;

describe.skipIf(!hasChromium)("a page whose key is taken away while it is open", () => {
  let house: House;
  let agent: Agent;
  beforeAll(async () => {
    house = await openHouse(chipTeam);
    agent = await house.create({ goal: GOAL, name: NAME });
    await until(agent, ({ questions }) => Object.keys(questions.open).length === 1);
  });
  afterAll(async () => {
    await house?.[Symbol.asyncDispose]();
  });
  const at = () => `/ui/agents/${agent.log.id}`;
  const lock = (page: Page) => page.getByRole("dialog", { name: "Your login is no longer valid" });
  const field = (page: Page) => page.getByRole("textbox", { name: "Message to the coordinator" });

  test("another token: the page says what to do, asks no faster for it, and goes on with all that was typed", async () => {
    const page = await house.page();
    await page.addInitScript(COUNTED);
    await page.goto(at());
    await field(page).fill("Half a thou");
    await page.getByRole("heading", { name: NAME, level: 1 }).click();
    await page.keyboard.press("n");
    await page.getByLabel("Goal").fill("Do it once");
    await page.getByLabel("Name").fill("Once");
    await house.renewToken();
    await lock(page).getByText("agiraph token --link").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await lock(page).waitFor();
    // Nor is anything opened over it.
    await lock(page).getByRole("button", { name: "Open" }).focus();
    await page.keyboard.press("Control+k");
    await page.keyboard.press("?");
    expect(await page.getByRole("dialog", { name: "New agent" }).count()).toBe(1);
    expect(await page.getByRole("dialog").count()).toBe(2);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);

    // It asks again and again, each time later: six times in a row would take no time at all if it were hot.
    await page.evaluate("window.asked.length = 0");
    await expect.poll(() => page.evaluate("window.asked.length")).toBeGreaterThan(5);
    expect(await page.evaluate("window.asked[5] - window.asked[0]")).toBeGreaterThan(800);

    const token = lock(page).getByLabel(/paste the token/);
    await token.fill("cut…");
    await token.press("Enter");
    await lock(page).getByText("The token is wrong.").waitFor();
    await token.fill("wrong");
    await token.press("Enter");
    await lock(page).getByText("The token is wrong.").waitFor();
    await token.fill(house.token);
    await token.press("Enter");
    await lock(page).waitFor({ state: "detached" });
    await page.getByText("The connection is lost").waitFor({ state: "detached" });
    expect(page.url()).toBe(`${house.url}${at()}`);
    expect(await page.getByLabel("Goal").inputValue()).toBe("Do it once");
    expect(await page.getByLabel("Name").inputValue()).toBe("Once");
    // One goes on typing where one was.
    await expect.poll(() => page.evaluate("document.activeElement.name")).toBe("name");
    await page.keyboard.press("Escape");
    expect(await field(page).inputValue()).toBe("Half a thou");
    await agent.send("Are you there?");
    await page.getByRole("log").getByText("Are you there?").waitFor();
    await page.context().close();
  });

  test("a login that is over is found out by whatever is sent, and one in another tab is enough", async () => {
    const page = await house.page(at());
    await field(page).waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Alice" }).waitFor();
    await field(page).fill("Did you get this?");
    // From here on anything that the page asks for locks it: the message is to be the first.
    await page.context().clearCookies();
    await field(page).press("Enter");
    await lock(page).waitFor();
    const other = await page.context().newPage();
    await other.goto(`/login?once=${house.app.credentials.newLink().once}`);
    await page.bringToFront();
    // Whoever comes back to a tab has it try at once. Its connections stand: none of them says that it may.
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await lock(page).waitFor({ state: "detached" });
    await page.getByRole("log").getByText("Did you get this?").waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("log").getByText("not sent").waitFor({ state: "detached" });
    await until(agent, ({ thread }) => thread.some(({ text }) => text === "Did you get this?"));
    await page.context().close();
  });
});
