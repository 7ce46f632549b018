import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import { until } from "../../src/testing/index.ts";
import { amount, money } from "../../web/src/text/figures.ts";
import { CHOICES, chipTeam, GOAL, NAME } from "./chip-team.ts";
import { type House, hasChromium, MODEL, openHouse } from "./house.ts";

describe.skipIf(!hasChromium)("looking back at a team's work, and at what it cost, in the page", () => {
  let house: House;
  let agent: Agent;
  let page: Page;
  beforeAll(async () => {
    house = await openHouse(chipTeam);
    house.provider.release("alice");
    agent = await house.create({ goal: GOAL, name: NAME });
    await until(agent, ({ questions }) => Object.keys(questions.open).length === 1);
    await agent.respond(CHOICES[0] ?? "");
    await agent.idle();
    page = await house.page();
  });
  afterAll(async () => {
    expect(house.complaints).toEqual([]);
    await house[Symbol.asyncDispose]();
  });

  const at = (screen: string) => `/ui/agents/${agent.log.id}/${screen}`;
  const board = () => page.locator("[data-board]");
  const section = (panel: Locator, title: string) =>
    panel.locator("section").filter({ has: page.getByRole("heading", { name: title, exact: true }) });
  const nodes = () =>
    board()
      .locator("[data-node]")
      .evaluateAll((cards) => cards.map((card) => card.getAttribute("data-node")));

  test("replay moves every screen to a moment, and a reload stays there", async () => {
    const facts = await agent.log.read({ after: 0, limit: 1000 });
    const made = facts.findLast((fact) => fact.type === "node.created" && fact.data.node_id === "node-2")?.seq ?? 0;
    const listed = () => page.getByRole("list", { name: "Facts" }).getByRole("listitem");
    await page.goto(at("timeline"));
    const newest = page.getByRole("list", { name: "Facts" }).getByRole("time").first();
    expect(await newest.textContent()).toMatch(/^\d\d:\d\d:\d\d$/);
    const bars = page.getByRole("region", { name: "Who worked when" });
    await bars.getByText(/^from \d\d:\d\d:\d\d to \d\d:\d\d:\d\d$/).waitFor();
    await page.getByRole("slider").fill(String(made));
    await page.getByRole("region", { name: "Replay" }).getByText(String(made)).first().waitFor();
    expect(page.url()).toContain(`?at=${made}`);
    for (const _ of ["as it is", "after a reload"]) {
      await page.getByRole("navigation").getByRole("link", { name: "Board" }).click();
      await board().locator('[data-node="node-2"]').waitFor();
      expect(await nodes()).toEqual(["node-1", "node-2"]);
      await page
        .getByRole("navigation")
        .getByRole("link", { name: /^Coordinator/ })
        .click();
      await page.getByText("You are looking at the past.").waitFor();
      expect(await page.getByRole("log").getByText("Finished", { exact: true }).count()).toBe(0);
      // Carol was hired, and all were at work, only later.
      expect(await page.getByRole("navigation").getByRole("link", { name: "Carol" }).count()).toBe(0);
      await page.getByRole("navigation").getByRole("link", { name: "Timeline" }).click();
      await expect.poll(() => listed().first().locator("span").first().textContent()).toBe(String(made));
      await page.reload();
      expect(new URL(page.url()).search).toBe(`?at=${made}`);
    }
    await page.getByRole("region", { name: "Replay" }).getByText(String(made)).first().waitFor();
    await page.keyboard.press("f");
    await page.getByText("Published files are exactly as they were at this moment").waitFor();
    const published = "runs/run-1/nodes/node-1/published/report.md";
    await page.goto(`${at(`files/${published}`)}?at=${made}`);
    await page.getByText(`There was no file ${published} at this moment.`).waitFor();
    await page.keyboard.press("m");
    await page.getByText("The memory is shown as it is now").waitFor();
    await page.keyboard.press("s");
    await page.getByText("Nothing is planned.").waitFor();
    await page.keyboard.press("c");
    await page.getByRole("button", { name: "Back to now" }).click();
    await page.getByRole("log").getByText("Finished", { exact: true }).waitFor();
    expect(page.url()).not.toContain("at=");
  });

  test("in the midst of somebody's work, their stream, their node and what was spent are as they were then", async () => {
    const facts = await agent.log.read({ after: 0, limit: 1000 });
    const half = facts.find(
      (fact) => fact.type === "tool.result" && fact.data.worker_id === "alice" && fact.data.tool === "read_file",
    )?.seq;
    await page.goto(`${at("workers/alice")}?at=${half}`);
    const stream = page.getByRole("log");
    await stream.getByRole("button", { name: /write_file.*bench\.ts/ }).waitFor();
    await stream.getByText("First the method, then the numbers.").waitFor();
    expect(await stream.getByText("report.md").count()).toBe(0);
    expect(await stream.getByText("The numbers are stable.").count()).toBe(0);
    await page.getByRole("heading", { name: "Alice", level: 1 }).getByText("working").waitFor();
    const spentThen = await page
      .getByText(/ tokens · \$/)
      .first()
      .textContent();
    await page.goto(`${at("board/node-1")}?at=${half}`);
    const panel = page.getByRole("complementary", { name: "node-1" });
    await panel.getByText("running", { exact: true }).waitFor();
    await section(panel, "published/").getByText("empty").waitFor();
    await section(panel, "Log")
      .getByText(/^Alice begins node-1/)
      .waitFor();
    expect(
      await section(panel, "Log")
        .getByText(/^Alice published/)
        .count(),
    ).toBe(0);
    await page.goto(at("workers/alice"));
    await stream.getByText("The numbers are stable.").waitFor();
    await stream.getByRole("link", { name: "report.md" }).waitFor();
    expect(
      await page
        .getByText(/ tokens · \$/)
        .first()
        .textContent(),
    ).not.toBe(spentThen);
  });

  test("a moment is told in full before the agent's own facts have come, and the rest when they come", async () => {
    const facts = await agent.log.read({ after: 0, limit: 1000 });
    const half = facts.find(
      (fact) => fact.type === "tool.result" && fact.data.worker_id === "alice" && fact.data.tool === "read_file",
    )?.seq;
    const live = Promise.withResolvers<void>();
    const tab = await house.page("about:blank");
    // Nothing else has the page drawn again.
    await tab.routeWebSocket(/:\d+\/events/, () => {});
    await tab.routeWebSocket(/\/agents\/[^/]+\/events/, async (socket) => {
      await live.promise;
      socket.connectToServer();
    });
    await tab.goto(`${at("board/node-1")}?at=${half}`);
    const panel = tab.getByRole("complementary", { name: "node-1" });
    await panel.getByText(/^\w+ begins node-1/i).waitFor();
    expect(await panel.getByText(/^\w+ begins node-1/i).textContent()).toMatch(/^Alice begins node-1/);
    // On the timeline there are also those who came later.
    await tab.goto(`${at("timeline")}?at=2`);
    await tab.getByRole("main").getByRole("status", { name: "Loading" }).waitFor();
    live.resolve();
    const bars = tab.getByRole("region", { name: "Who worked when" });
    await bars.getByText("Carol", { exact: true }).waitFor();
    await tab.context().close();
  });

  test("a moment is a moment of one agent: the others stay as they are, and any of them can be folded", async () => {
    const other = await house.create({ goal: GOAL, name: "Another" });
    onTestFinished(() => other.archive("human"));
    await until(other, ({ roster }) => "carol" in roster);
    await page.goto(`${at("board")}?at=2`);
    const team = (name: string) => page.getByRole("navigation").getByRole("region", { name, exact: true });
    await page.getByRole("button", { name: "Team of Another", exact: true }).click();
    await team("Another").getByRole("link", { name: "Carol" }).waitFor();
    await team(NAME).getByRole("link", { name: "Board" }).waitFor();
    expect(await team(NAME).getByRole("link", { name: "Carol" }).count()).toBe(0);
    await page.getByRole("button", { name: `Team of ${NAME}` }).click();
    await team(NAME).getByRole("link", { name: "Board" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: `Team of ${NAME}` }).click();
    await team(NAME).getByRole("link", { name: "Board" }).waitFor();
  });

  test("tokens and cost are told of each of the team, of the coordinator alone, and of all together", async () => {
    const { total, by_worker } = agent.now.spending;
    const spent = (tally: typeof total | undefined) =>
      `${amount((tally?.usage.input ?? 0) + (tally?.usage.output ?? 0))} tokens · ${money(tally?.cost_usd ?? 0)}`;
    for (const name of ["alice", "bob", "carol"]) {
      await page.goto(at(`workers/${name}`));
      await page.getByText(`${spent(by_worker[name])} · ${MODEL}`).waitFor();
    }
    await page.goto(at(""));
    await page.getByText(`${spent(total)} · itself ${spent(by_worker.coordinator)} · ${MODEL}`).waitFor();
    expect(Object.values(by_worker).reduce((sum, each) => sum + each.cost_usd, 0)).toBeCloseTo(total.cost_usd, 9);
    await page.goto("/ui/");
    const card = page.getByRole("main").getByRole("link", { name: new RegExp(`^${NAME}`) });
    await card.getByText(money(total.cost_usd)).waitFor();
    const all = (await house.runtime.summaries()).filter(({ archived }) => !archived);
    await page.getByText(`${money(all.reduce((sum, { cost_usd }) => sum + cost_usd, 0))} in total`).waitFor();
  });

  test("a node is for the goal of its own run, whatever came after it", async () => {
    await page.goto(at(""));
    await page.getByRole("textbox", { name: "Message to the coordinator" }).fill("Rest now.");
    await page.keyboard.press("Enter");
    await until(agent, (now) => now.agent.run?.id === "run-2");
    await page.goto(at("board/node-1"));
    await page.getByText(`For the goal: ${GOAL}`).waitFor();
  });
});
