import type { Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentIdSchema } from "../../src/protocol/index.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { until } from "../../src/testing/index.ts";
import { chipTeam, GOAL, NAME, QUESTION } from "./chip-team.ts";
import { type House, hasChromium, MODEL, openHouse } from "./house.ts";

const call = (name: string, args: unknown) => ({ name, args });
const SPENT = { usage: { input: 200_000, output: 1000 }, calls: [call("write_file", { path: "a.md", content: "a" })] };
const WRONG_KEY = "Ask with the wrong key";
const WELL = { calls: [call("finish", { summary: "All is well." })] };

describe.skipIf(!hasChromium)("what one needs next is at hand", () => {
  let house: House;
  let agent: Agent;
  let isMended = false;
  beforeAll(async () => {
    house = await openHouse({
      turns: {
        ...chipTeam.turns,
        "Spend the money": [SPENT, WELL],
        "Spend the tokens": [SPENT, WELL],
        "Spend it far away": [SPENT, WELL],
      },
      respond: (request) => {
        if (!request.messages.some(({ text }) => text.includes(WRONG_KEY))) return chipTeam.respond?.(request);
        return isMended ? WELL : { fault: { status: 401, message: "invalid x-api-key" } };
      },
    });
    agent = await house.create({ goal: GOAL, name: NAME });
    house.provider.release("alice");
    await until(agent, isAsking);
  });
  afterAll(async () => {
    await house?.[Symbol.asyncDispose]();
  });

  test.for([
    [1440, 900],
    [390, 700],
  ] as const)("a toast lies on nothing that one writes with (%s px)", async ([width, height]) => {
    const page = await house.page(`/ui/agents/${agent.log.id}`, { viewport: { width, height } });
    await page.getByRole("log").getByText("finished node-1").waitFor();
    const asking = await house.create({ goal: GOAL, name: "Beside" });
    const toast = page.getByRole("status").locator("div", { hasText: `Bob asks: ${QUESTION}` });
    await toast.waitFor();
    const composer = page.locator("form", { has: page.locator("[data-composer]") });
    await expect.poll(async () => await isAbove(toast, composer)).toBe(true);
    await page.locator("[data-composer]").fill("One line\nand another\nand a third\nand a fourth.");
    await expect.poll(async () => await isAbove(toast, composer)).toBe(true);
    // Where nothing is at the foot, it stands at the edge.
    await page.keyboard.press("Escape");
    await page.keyboard.press("b");
    await page.getByRole("heading", { name: "Board", level: 1 }).waitFor();
    await expect.poll(async () => height - (await bottomOf(toast))).toBeLessThan(16);
    await page.context().close();
    await asking.archive("human");
  });

  test("a dialog gives the focus back to what opened it, however it is closed", async () => {
    const page = await house.page(`/ui/agents/${agent.log.id}/triggers`);
    const close = page.getByRole("dialog").getByRole("button", { name: "Close" });
    for (const name of ["Add", "New agent"]) {
      const opener = page.getByRole("button", { name, exact: true });
      for (const leave of [() => close.click(), () => page.keyboard.press("Escape"), () => page.mouse.click(5, 5)]) {
        await opener.click();
        await page.getByRole("dialog").waitFor();
        await leave();
        await page.getByRole("dialog").waitFor({ state: "detached" });
        await expect.poll(() => hasFocus(opener)).toBe(true);
      }
    }
    // From a field one comes back to it; where it is gone, to what is in sight now.
    await page.goto(`/ui/agents/${agent.log.id}`);
    const field = page.getByRole("textbox", { name: "Message to the coordinator" });
    await field.focus();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").waitFor({ state: "detached" });
    await expect.poll(() => hasFocus(field)).toBe(true);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("board");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Board", level: 1 }).waitFor();
    await expect.poll(() => hasFocus(page.locator("#main"))).toBe(true);
    await page.context().close();
  });

  test("from the menu of a phone a new agent is asked for, and left again to where the menu was opened", async () => {
    const page = await house.page(`/ui/agents/${agent.log.id}`, { viewport: { width: 390, height: 700 } });
    const opener = page.getByRole("main").getByRole("button", { name: "Agents", exact: true });
    await opener.click();
    await page.getByRole("dialog").getByRole("button", { name: "New agent" }).click();
    const dialog = page.getByRole("dialog", { name: "New agent" });
    await dialog.getByRole("button", { name: "Close" }).click();
    await dialog.waitFor({ state: "detached" });
    await expect.poll(() => hasFocus(opener)).toBe(true);
    await page.context().close();
  });

  test("on the board the arrows begin at the first card", async () => {
    const page = await house.page(`/ui/agents/${agent.log.id}`);
    await page.getByRole("log").getByText("finished node-1").waitFor();
    await page.keyboard.press("b");
    const card = (id: string) => page.locator(`[data-node="${id}"]`);
    await card("node-1").waitFor();
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => hasFocus(card("node-1"))).toBe(true);
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => hasFocus(card("node-2"))).toBe(true);
    await page.keyboard.press("Enter");
    await page.getByRole("complementary", { name: "node-2" }).waitFor();
    // Closed by its own button too, it leaves one where one was.
    await page.getByRole("complementary").getByRole("link", { name: "Close" }).click();
    await expect.poll(() => hasFocus(card("node-2"))).toBe(true);
    await page.context().close();
  });

  test.for([
    [390, 700],
    [1440, 600],
  ] as const)("the button that begins is in sight however long the form is (%s × %s)", async ([width, height]) => {
    const page = await house.page("/ui/", { viewport: { width, height } });
    await page.getByRole("heading", { name: "Agents", level: 1 }).waitFor();
    await page.keyboard.press("n");
    const dialog = page.getByRole("dialog", { name: "New agent" });
    const begin = dialog.getByRole("button", { name: "Start agent" });
    await dialog.getByText("per million tokens").waitFor();
    expect(await isWholeInSight(begin)).toBe(true);
    // Nor does it hide the field that somebody has come to.
    const mode = dialog.locator("select[name=mode]");
    await mode.focus();
    expect([await isAbove(mode, begin), await isWholeInSight(begin)]).toEqual([true, true]);
    await page.context().close();
  });

  test("an infinite agent is made with its cycle, what wakes it and its tools; what is wrong is said at its field", async () => {
    const page = await house.page();
    await page.getByRole("navigation", { name: "Agents" }).waitFor();
    await page.keyboard.press("n");
    const dialog = page.getByRole("dialog", { name: "New agent" });
    await dialog.getByLabel("Goal").fill(`${GOAL} Again and again.`);
    await dialog.getByLabel("Name").fill("Again");
    await dialog.getByLabel("Model", { exact: true }).selectOption(MODEL);
    expect(await dialog.getByLabel("Every").count()).toBe(0);
    await dialog.locator("[name=mode]").selectOption("infinite");
    const every = dialog.getByLabel("Every");
    await every.fill("soon");
    await dialog.locator("[name=watch]").fill("cmd: ls project");
    await dialog.getByLabel("Tools").fill("read_file, crate_work_node");
    const begin = dialog.getByRole("button", { name: "Start agent" });
    await begin.click();
    await dialog.getByRole("alert").getByText("30s, 10m, 2h or 1d").waitFor();
    expect(await hasFocus(every)).toBe(true);
    await every.fill("2h");
    await begin.click();
    await dialog.getByRole("alert").getByText('Did you mean "create_work_node"?').waitFor();
    await dialog.getByLabel("Tools").fill("read_file, write_file");
    await begin.click();
    await page.getByRole("heading", { name: "Again" }).waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
    const made = await house.runtime.agent(agentIdSchema.parse(id));
    expect(made.now.agent.created).toMatchObject({
      mode: "infinite",
      cycle_seconds: 7200,
      watch: { command: "ls project" },
      tools: ["read_file", "write_file"],
    });
    await made.archive("human");
    await page.context().close();
  });

  test("an agent whose key was refused says which, and goes on from there", async () => {
    isMended = false;
    const failed = await house.create({ goal: WRONG_KEY });
    await until(failed, isFailed);
    const page = await house.page(`/ui/agents/${failed.log.id}`);
    const log = page.getByRole("log");
    await log.getByText("Check the key in ANTHROPIC_API_KEY.").last().waitFor();
    await log.getByText("Fix the key and restart the server").waitFor();
    await page.getByPlaceholder("Write to continue…").waitFor();
    isMended = true;
    await log.getByRole("button", { name: "Continue" }).click();
    await log.getByText("All is well.").waitFor();
    expect(await log.getByRole("button", { name: "Continue" }).count()).toBe(0);
    await page.context().close();
  });

  test("what ran out of money or tokens is given more where it says so, and by the palette from anywhere", async () => {
    const orders = [
      { goal: "Spend the money", budget_usd: 0.05 },
      { goal: "Spend the tokens", budget_tokens: 1000 },
      { goal: "Spend it far away", budget_usd: 0.05, name: "Far away" },
    ];
    const [money, tokens, far] = await Promise.all(orders.map((order) => house.create(order)));
    const page = await house.page();
    const giveMore = async (label: string, amount: string) => {
      await page.getByLabel(label).fill(amount);
      await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click();
      await page.getByRole("log").getByText("All is well.").waitFor();
    };
    for (const each of [money, tokens, far]) if (each) await until(each, isFailed);
    await page.goto(`/ui/agents/${money?.log.id}`);
    await page.getByPlaceholder("It reads this when it is resumed…").waitFor();
    await page.getByRole("log").getByRole("button", { name: "Give it more money" }).click();
    await giveMore("Budget in USD", "5");
    await page.goto(`/ui/agents/${tokens?.log.id}`);
    await page.getByRole("log").getByRole("button", { name: "Give it more tokens" }).click();
    await giveMore("Budget in tokens", "900000");
    await page.goto("/ui/");
    await page.getByRole("navigation", { name: "Agents" }).getByRole("region", { name: "Far away" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("resume far away");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "The budget is spent" }).waitFor();
    expect(Number(await page.getByLabel("Budget in USD").inputValue())).toBeGreaterThan(0.6);
    await giveMore("Budget in USD", "5");
    expect(tokens?.now.agent.created.budget_tokens).toBe(900_000);
    await page.context().close();
  });
});

const isAsking = ({ questions, board }: Agent["now"]) =>
  Object.keys(questions.open).length === 1 && board.nodes["node-1"]?.status === "completed";
const isFailed = (now: Agent["now"]) => now.agent.status === "failed";

const hasFocus = (what: Locator) => what.evaluate((element) => element === element.ownerDocument.activeElement);

async function boxOf(what: Locator) {
  const box = await what.boundingBox();
  if (!box) throw new Error("It is not in sight.");
  return box;
}

async function bottomOf(what: Locator): Promise<number> {
  const { y, height } = await boxOf(what);
  return y + height;
}

async function isAbove(upper: Locator, lower: Locator): Promise<boolean> {
  return (await bottomOf(upper)) <= (await boxOf(lower)).y;
}

/** Within the page, and with nothing upon it. */
async function isWholeInSight(what: Locator): Promise<boolean> {
  return what.evaluate((element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    const corners = [
      [left + 4, top + 4],
      [right - 4, bottom - 4],
    ] as const;
    return corners.every(([x, y]) => element.contains(element.ownerDocument.elementFromPoint(x, y)));
  });
}
