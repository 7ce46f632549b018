import type { Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../src/testing/index.ts";
import { CHOICES, chipTeam, GOAL, NAME, QUESTION } from "./chip-team.ts";
import { type House, hasChromium, MODEL, openHouse } from "./house.ts";

/** The colour behind the row that something stands in. */
const ground = (words: Locator): Promise<string> =>
  words.evaluate((found) => {
    const row = found.closest("[data-index] > div");
    return row?.ownerDocument.defaultView?.getComputedStyle(row).backgroundColor ?? "no row";
  });

describe.skipIf(!hasChromium)("talking to a team in the page", () => {
  let house: House;
  beforeAll(async () => {
    house = await openHouse(chipTeam);
  });
  afterAll(async () => {
    expect(house.complaints).toEqual([]);
    await house[Symbol.asyncDispose]();
  });

  test("an agent is made with a goal, its team appears, and it is seen to finish", async () => {
    const page = await house.page();
    await page.getByRole("heading", { name: "Give an agent a goal" }).waitFor();
    await page.getByRole("main").getByRole("button", { name: "New agent" }).click();
    const dialog = page.getByRole("dialog", { name: "New agent" });
    await dialog.getByLabel("Goal").fill(GOAL);
    await dialog.getByLabel("Name").fill(NAME);
    await dialog.getByLabel("Model", { exact: true }).selectOption(MODEL);
    expect(await dialog.getByText("per million tokens").count()).toBe(1);
    await dialog.getByLabel("Budget in USD").fill("5");
    await dialog.getByRole("button", { name: "Start agent" }).click();

    await page.getByRole("heading", { name: NAME }).waitFor();
    const sidebar = page.getByRole("navigation", { name: "Agents" });
    for (const name of ["Alice", "Bob", "Carol"]) await sidebar.getByRole("link", { name }).waitFor();
    const stream = page.getByRole("log");
    await stream.getByText("I set up a team of three").waitFor();
    expect(await stream.getByText("at work", { exact: true }).evaluate((bold) => bold.tagName)).toBe("STRONG");
    // What is said to the person stands out from what is only thought aloud.
    expect(await ground(stream.getByText("at work", { exact: true }))).not.toBe(
      await ground(stream.getByText("I set up a team of three")),
    );
    house.provider.release("alice");

    // Bob's question is announced where the person is, and answered by its key.
    const toast = page.getByRole("status").getByText(`Bob asks: ${QUESTION}`);
    await toast.waitFor();
    await page.waitForFunction(`document.title.startsWith("(1)")`);
    await page.getByRole("button", { name: "Answer" }).click();
    await page
      .getByRole("region", { name: "Question" })
      .getByRole("button", { name: CHOICES[2] ?? "" })
      .waitFor();
    await page.keyboard.press("3");
    await page.getByText(`You answered: ${CHOICES[2]}`).waitFor();

    await sidebar.getByRole("link", { name: /^Coordinator/ }).click();
    await stream.getByText("Finished", { exact: true }).waitFor();
    await stream.getByText("is faster; A needs less power.").last().waitFor();
    await page.waitForFunction(`!document.title.startsWith("(")`);
    expect((await house.runtime.summaries()).find(({ name }) => name === NAME)).toMatchObject({
      goal: GOAL,
      mode: "finite",
      model: MODEL,
      budget_usd: 5,
      status: "completed",
    });
    await page.context().close();
  });

  test("a word to the coordinator shows at once, is seen, and is answered with words as they are said", async () => {
    const agent = await house.create({ goal: GOAL, name: "Second" });
    const page = await house.page(`/ui/agents/${agent.log.id}`);
    await page.getByRole("log").getByText("I set up a team").waitFor();
    const field = page.getByRole("textbox", { name: "Message to the coordinator" });
    await field.fill("Also compare the power.");
    await field.press("Enter");
    await page.getByRole("log").getByText("Also compare the power.").waitFor();
    await house.provider.reached("words");
    await page.getByText("saying").waitFor();
    await page.getByRole("log").getByText("Power is in the plan now.").waitFor();
    expect(await page.getByRole("log").getByText("That is all.").count()).toBe(0);
    house.provider.release("words");
    await page.getByRole("log").getByText("That is all.").waitFor();
    await page.getByText("seen", { exact: true }).waitFor();
    await page.getByText("saying").waitFor({ state: "detached" });
    expect(await page.getByRole("log").getByText("Also compare the power.").count()).toBe(1);
    expect(await page.getByRole("log").getByText("Power is in the plan now.").count()).toBe(1);
    await page.context().close();
  });

  test("a worker is spoken to in its own stream, and everyone at once", async () => {
    const agent = await house.create({ goal: GOAL, name: "Third" });
    await until(agent, ({ questions }) => Object.keys(questions.open).length === 1);
    const page = await house.page(`/ui/agents/${agent.log.id}/workers/alice`);
    const field = page.getByRole("textbox", { name: "Message to Alice" });
    await field.fill("Use degrees Celsius.");
    await field.press("Enter");
    await page.getByRole("log").getByText("Use degrees Celsius.").waitFor();
    await field.fill("@everyone Two hours are left.");
    await field.press("Enter");
    await page.getByRole("log").getByText("Two hours are left.").waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Carol" }).click();
    await page.getByRole("log").getByText("Two hours are left.").waitFor();
    const sent = async () =>
      (await agent.log.read({ after: 0, limit: 1000 })).flatMap((fact) =>
        fact.type === "message.sent" && fact.data.from === "human" ? [[fact.data.to, fact.data.text]] : [],
      );
    // The page shows what was said before the server has it.
    await expect.poll(sent).toEqual([
      ["alice", "Use degrees Celsius."],
      ["*", "Two hours are left."],
    ]);
    await page.context().close();
  });

  test("a question is answered in one's own words in one tab, and the other tab knows", async () => {
    const agent = await house.create({ goal: GOAL, name: "Fourth" });
    const path = `/ui/agents/${agent.log.id}/workers/bob`;
    const [first, second] = [await house.page(path), await house.page(path)];
    for (const page of [first, second])
      await page.getByRole("region", { name: "Question" }).getByText(QUESTION).waitFor();
    await first.getByLabel("Your answer").fill("The steady state, and say why.");
    await first.getByRole("button", { name: "Answer" }).click();
    for (const page of [first, second]) await page.getByText("You answered: The steady state, and say why.").waitFor();
    expect(await second.getByLabel("Your answer").count()).toBe(0);
    await first.context().close();
    await second.context().close();
  });

  test("a question is answered by its key in a second tab, and the first, where an answer was begun, takes no other", async () => {
    const agent = await house.create({ goal: GOAL, name: "Fifth" });
    const path = `/ui/agents/${agent.log.id}/workers/bob`;
    const [first, second] = [await house.page(path), await house.page(path)];
    await first.getByLabel("Your answer").fill("The steady st");
    await second.getByRole("button", { name: CHOICES[1] ?? "" }).waitFor();
    await second.keyboard.press("2");
    for (const page of [first, second]) await page.getByText(`You answered: ${CHOICES[1]}`).waitFor();
    expect(await first.getByLabel("Your answer").count()).toBe(0);
    await first.keyboard.press("Escape");
    await first.keyboard.press("1");
    await until(agent, ({ board }) => board.nodes["node-2"]?.status === "completed");
    const facts = await agent.log.read({ after: 0, limit: 1000 });
    expect(facts.flatMap((fact) => (fact.type === "human.response" ? [fact.data.text] : []))).toEqual([CHOICES[1]]);
    await first.context().close();
    await second.context().close();
  });
});
